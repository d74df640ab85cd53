{-# OPTIONS --safe #-}

-- A body that defers two streams, its type, and that of `nest` of it: what the theorems ask for can be met.

module Flo.Example where

open import Data.List using ([]; _∷_)
open import Data.Product using (_,_)
open import Data.Unit using (tt)
open import Relation.Binary.PropositionalEquality using (refl)

open import Flo.Collection
open import Flo.Collections.LVar using (maximum)
open import Flo.Collections.Weighted using (Kind)
open import Flo.Language maximum using (collection; elements)
open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection using (Graph; ⊢_∶_↪_; operator; sequence; module Theorems)
import Flo.Graph collection as Graphs
open import Flo.Defer collection
open import Flo.NestProgress collection
open import Flo.Operators.Union maximum Kind.set using (union′; union-type)
open import Flo.Operators.Wire collection using (identity; tee; wire-type)

El : Ty
El = base (elements Kind.set)

-- The union of all inner streams so far: it is emitted, and deferred under a key.
seen : Key → Body (El ∷ []) (El ∷ [])
seen k = ((read-defer k (val ([] , arrived)) ∥ plain identity) ⨟ plain (union′ Graphs.⨟ tee)) ⨟ (write-defer k ∥ plain identity)

⊢seen : ∀ {R k} → (k , El , B) ∈ R → R ⨾ (k , El , B) ∷ [] ⊢ seen k ∶ (B ∷ []) ↪ (B ∷ [])
⊢seen i = sequence
  (sequence (par (read-defer-value-type i refl (arrived , λ _ → arrived) refl) (without-defers (operator wire-type)))
    (without-defers (sequence (operator union-type) (operator wire-type) (reflexive-subtype ∷ [])))
    (reflexive-subtype ∷ reflexive-subtype ∷ []))
  (par (write-defer-type refl) (without-defers (operator wire-type)))
  (reflexive-subtype ∷ reflexive-subtype ∷ [])

keys : Context
keys = ("a" , El , B) ∷ ("b" , El , B) ∷ []

⊢both : keys ⨾ keys ⊢ (seen "a" ∥ seen "b") ∶ (B ∷ B ∷ []) ↪ (B ∷ B ∷ [])
⊢both = par (⊢seen here) (⊢seen (there here))

accumulated : Graph (nested (El ∷ El ∷ []) ∷ []) (nested (El ∷ El ∷ []) ∷ [])
accumulated = Nest.nest-with-defers ⊢both

-- On an unbounded stream of pairs of bounded sets.
⊢accumulated : ⊢ accumulated ∶ ((U , B ∷ B ∷ []) ∷ []) ↪ ((U , B ∷ B ∷ []) ∷ [])
⊢accumulated = nest-type ⊢both ((λ { (there ()) }) , (λ ()) , tt) (refl , refl , tt)
