{-# OPTIONS --safe #-}

-- read_defer and write_defer (§5.3, §5.4), and `nest` with a body that passes a stream from one inner stream to the next.

open import Flo.Collection

module Flo.Defer {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; [_])
open import Data.List.Relation.Unary.Any using (here; there)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
open import Data.Product using (∃; _×_; _,_)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; subst)
open import Relation.Nullary using (no)
open import Relation.Nullary.Decidable using (⌊_⌋)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection
open import Flo.Nest collection
open import Flo.Operators.Wire collection using (wires; Routes; _∈_; []; _∷_; here; there)

module Read {t : Ty} (v₀ : Val t) where

  -- read_defer(k, v), and read_defer(k) after it has emitted v.
  data Fires : Maybe (Val t) × Vals [] → Maybe (Val t) × Vals [] → Deltas (t ∷ []) → Set where
    read-defer-emit : ∀ {v} → Fires (just v , []) (nothing , []) (just v ∷ [])

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (just v , [])  = [ _ , _ , read-defer-emit ]
  fires (nothing , []) = []

  read-defer : Operator [] (t ∷ [])
  read-defer = record
    { Expr = Maybe (Val t) ; begin = just v₀ ; Fires = Fires ; fires = fires ; rule = λ _ → "read-defer-emit"
    ; complete = λ { read-defer-emit → here (refl , refl) } }

  open Machine (Operator.node read-defer)

  measure : State → ℕ
  measure (just _ , _)  = 1
  measure (nothing , _) = 0

  falls : ∀ {s u o} → Fires s u o → measure u < measure s
  falls read-defer-emit = s≤s z≤n

  lawful′ : Lawful (Operator.node read-defer)
  lawful′ = record
    { terminates = falling (Operator.node read-defer) measure (λ {s} {u} → falls {s} {u})
    ; confluent = λ { read-defer-emit read-defer-emit → join-≡ refl ≋-refl }
    ; eager = λ { [] read-defer-emit → joined (read-defer-emit ◅ ε) ε ≋-refl } }

  -- The value must be fixed (rule read-defer-value-type): as any that a `nest` has begun with (docs/deviations.md, 16).
  data Typed : Flags [] → Flags (t ∷ []) → Set where
    read-defer-value-type : Freshᵛ v₀ → Fixedᵛ v₀ → fixᵛ v₀ ≡ v₀ → Typed [] (B ∷ [])

  progress′ : ∀ {i o} → Typed i o → Progress (Operator.node read-defer) i o
  progress′ (read-defer-value-type fresh fixed same-fix) = progress-by (Operator.node read-defer) lawful′ λ
    { [] [] → _ , _ , emits , stuck , ((fresh , λ _ → fixed) ∷ []) , _ ,
        subst (λ w → ((just v₀ , []) , ∅s) ⟶* ((nothing , []) , w ∷ [])) (sym same-fix) emits , stuck }
    where
    stuck : ∀ {w} → Stuck ((nothing , []) , w)
    stuck (step ())
    emits : ((just v₀ , []) , ∅s) ⟶* ((nothing , []) , v₀ ∷ [])
    emits = subst (λ w → ((just v₀ , []) , ∅s) ⟶* ((nothing , []) , w ∷ [])) (⊹-identityˡ {d = v₀} fresh)
      (step read-defer-emit Rw.◅ Rw.ε)

  read : Graph [] (t ∷ [])
  read = op read-defer record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = progress′ }

module Write {t : Ty} where

  -- write_defer(k) takes no step: `nest` reads its buffer.
  data Fires : ⊤ × Vals (t ∷ []) → ⊤ × Vals (t ∷ []) → Deltas [] → Set where

  write-defer : Operator (t ∷ []) []
  write-defer = record
    { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = λ _ → [] ; rule = λ () ; complete = λ () }

  lawful′ : Lawful (Operator.node write-defer)
  lawful′ = record
    { terminates = falling (Operator.node write-defer) (λ _ → 0) (λ { () }) ; confluent = λ () ; eager = λ _ () }

  data Typed : Flags (t ∷ []) → Flags [] → Set where
    write-defer-type : Typed (B ∷ []) []

  open Machine (Operator.node write-defer)

  progress′ : ∀ {i o} → Typed i o → Progress (Operator.node write-defer) i o
  progress′ write-defer-type = progress-by (Operator.node write-defer) lawful′ λ
    { v _ → _ , _ , Rw.ε , (λ { (step ()) }) , [] , _ , Rw.ε , (λ { (step ()) }) }

  write : Graph (t ∷ []) []
  write = op write-defer record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = progress′ }

all : ∀ I → Routes I I
all I = go I (λ i → i)
  where
  go : ∀ {J} K → (∀ {t} → t ∈ K → t ∈ J) → Routes J K
  go []      place = []
  go (_ ∷ K) place = place here ∷ go K (λ i → place (there i))

pass-on : ∀ I → Graph I I
pass-on I = wires "id" (all I)

module Loop {t : Ty} {I O : Tys} (v₀ : Val t) (g : Graph (t ∷ I) (t ∷ O)) where

  -- The deferred stream is the first input of g, and the first output of it is what the next inner stream gets.
  body : Graph I O
  body = ((Read.read v₀ ∥ pass-on I) ⨟ g) ⨟ (Write.write ∥ pass-on O)

  open Machine ⟦ body ⟧

  collect-defer : State → Val t
  collect-defer (_ , ((_ , (c ∷ [])) , _)) = c

  set-defer : Val t → State
  set-defer v = ((((just v , []) , Machine.initial ⟦ pass-on I ⟧) , Machine.initial ⟦ g ⟧) , Machine.initial ⟦ Write.write {t} ∥ pass-on O ⟧)

  -- Termination and eager execution hold of it: see Theorems.
  nest-with-defer : Graph (nested I ∷ []) (nested O ∷ [])
  nest-with-defer = nested-graph body (λ s → set-defer (collect-defer s)) (λ s → ⌊ fixedᵛ? (collect-defer s) ⌋)
