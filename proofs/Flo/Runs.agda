{-# OPTIONS --safe #-}

-- Small programs, run by the semantics of this development: every state that some order of arrivals and steps reaches.
-- Flo/Expected.agda has the result, which tests/test_proofs.py compares with that of flo.core.

module Flo.Runs where

open import Agda.Builtin.String using (String; primStringAppend; primStringEquality; primShowNat)
open import Data.Bool using (Bool; true; false; if_then_else_)
open import Data.List using (List; []; _∷_; _++_; map; concatMap; reverse)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; zero; suc; _+_)
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)

open import Flo.Collection
open import Flo.Collections.LVar using (maximum)
open import Flo.Collections.Weighted using (Kind; Weights; weights)
open import Flo.Language maximum
import Flo.Operators.OnSequences maximum as Sequences
import Flo.Operators.OnElements maximum Kind.set as Sets
import Flo.Operators.Union maximum Kind.set as Unions
open import Flo.Operators.Wire collection using (wiring; here; []; _∷_)

infixr 5 _<>_
_<>_ : String → String → String
_<>_ = primStringAppend

-- A program whose operators can be printed.
data Program : Tys → Tys → Set₁ where
  leaf : ∀ {I O} (o : Operator I O) → (Operator.Expr o → String) → Program I O
  _⟫_  : ∀ {I M O} → Program I M → Program M O → Program I O
  _∣_  : ∀ {I O I′ O′} → Program I O → Program I′ O′ → Program (I ++ I′) (O ++ O′)

-- As ⟦_⟧ does for graphs.
machine : ∀ {I O} → Program I O → Machine I O
machine (leaf o _) = Operator.node o
machine (p ⟫ q)    = Sequence.machine (machine p) (machine q)
machine (p ∣ q)    = Parallel.machine (machine p) (machine q)

separated : List String → String
separated []       = ""
separated (x ∷ []) = x
separated (x ∷ xs) = x <> "," <> separated xs

show-end : End → String
show-end open′   = ""
show-end arrived = "*"
show-end passed  = "!"

show-value : ∀ {t} → Val t → String
show-value {base sequence} (val (xs , e))             = "[" <> separated (map primShowNat xs) <> "]" <> show-end e
show-value {base lvar} (val (v , e))                  = primShowNat v <> show-end e
show-value {base (elements Kind.set)} (val (m , e))   =
  "<" <> separated (map (λ u → primShowNat (proj₁ u)) (reverse (Weights.units (weights Kind.set) m))) <> ">" <> show-end e
show-value {base (elements Kind.bag)} _               = "bag"
show-value {base (elements Kind.zset)} _              = "zset"
show-value {nested _} _                               = "nested"

show-values : ∀ {ts} → Vals ts → List String
show-values []       = []
show-values (c ∷ cs) = show-value c ∷ show-values cs

show-state : ∀ {I O} (p : Program I O) → Machine.State (machine p) → String
show-state (leaf o show) (e , v) = "{" <> separated (show-values v) <> "}" <> show e
show-state (p ⟫ q) (s , t)         = show-state p s <> "; " <> show-state q t
show-state (p ∣ q) (s , t)         = show-state p s <> " | " <> show-state q t

module Explore {I O : Tys} (p : Program I O) where
  open Machine (machine p)

  -- The state, the outputs, and what has not arrived yet.
  Place : Set
  Place = State × Vals O × List (Deltas I)

  count : List (Deltas I) → ℕ
  count []       = 0
  count (_ ∷ ds) = suc (count ds)

  show : Place → String
  show (s , w , ds) = show-state p s <> " > " <> separated (show-values w) <> " + " <> primShowNat (count ds)

  dotted : List String → String
  dotted []       = ""
  dotted (x ∷ []) = x
  dotted (x ∷ xs) = x <> "." <> dotted xs

  moves : Place → List (String × Place)
  moves (s , w , ds) = arrivals ds ++ map (λ { (s′ , o , x) → dotted (path x) , (s′ , w ⊕ o , ds) }) (steps s)
    where
    arrivals : List (Deltas I) → List (String × Place)
    arrivals []       = []
    arrivals (d ∷ es) = ("arrive" , (push s d , w , es)) ∷ []

  known : String → List String → Bool
  known x []       = false
  known x (y ∷ ys) = if primStringEquality x y then true else known x ys

  -- All that is reached: for each state its moves, or that it is stuck.
  explore : ℕ → List Place → List String → List String
  explore zero    _        _    = "there are more states" ∷ []
  explore (suc n) []       seen = []
  explore (suc n) (c ∷ cs) seen = if known (show c) seen then explore n cs seen else lines (moves c)
    where
    lines : List (String × Place) → List String
    lines [] = (show c <> " is stuck") ∷ explore n cs (show c ∷ seen)
    lines ms = map (λ { (rule , t) → show c <> " -- " <> rule <> " -> " <> show t }) ms ++ explore n (cs ++ map proj₂ ms) (show c ∷ seen)

  reached : List (Deltas I) → List String
  reached ds = explore 2000 ((initial , ∅s , ds) ∷ []) []

------------------------------------------------------------------------
-- The operators, over sequences and sets.

Sq El : Ty
Sq = base sequence
El = base (elements Kind.set)

even : ℕ → Bool
even zero          = true
even (suc zero)    = false
even (suc (suc n)) = even n

record Operation : Set₁ where
  constructor operation
  field
    name    : String
    {I O}   : Tys
    program : Program I O

named : ∀ {I O} → String → Operator I O → Operation
named name o = operation name (leaf o (λ _ → name))

with-number : ∀ {I O} (name : String) (o : Operator I O) → (Operator.Expr o → ℕ) → Operation
with-number name o number = operation name (leaf o (λ e → name <> "(" <> primShowNat (number e) <> ")"))

operations : List Operation
operations =
  named "map" (Sequences.Of.operator′ (Sequences.map-unary suc)) ∷
  named "filter" (Sequences.Of.operator′ (Sequences.filter-unary even)) ∷
  with-number "scan" (Sequences.Of.operator′ (Sequences.scan-unary 0 _+_)) (λ n → n) ∷
  with-number "fold" (Sequences.Of.operator′ (Sequences.fold-unary 0 _+_)) (λ n → n) ∷
  named "tee" (wiring {Sq ∷ []} "tee" (here ∷ here ∷ [])) ∷
  named "drop" (wiring {Sq ∷ []} "drop" []) ∷
  named "map_set" (Sets.Of.operator′ (Sets.mapping suc)) ∷
  named "filter_set" (Sets.Of.operator′ (Sets.filtering even)) ∷
  named "tee_set" (wiring {El ∷ []} "tee" (here ∷ here ∷ [])) ∷
  named "union_sets" Unions.operator′ ∷ []

-- Whether the streams of one side are those of another.
same-ty : (s t : Ty) → Maybe (s ≡ t)
same-ty (base sequence) (base sequence)                           = just refl
same-ty (base (elements Kind.set)) (base (elements Kind.set))     = just refl
same-ty _ _                                                       = nothing

same-tys : (ss ts : Tys) → Maybe (ss ≡ ts)
same-tys []       []       = just refl
same-tys (s ∷ ss) (t ∷ ts) with same-ty s t | same-tys ss ts
... | just refl | just refl = just refl
... | _         | _         = nothing
same-tys _        _        = nothing

one-then-other one-beside-other : Operation → Operation → List Operation
one-then-other (operation n {I} {M} p) (operation m {M′} {O} q) with same-tys M M′
... | just refl = operation (n <> "; " <> m) (p ⟫ q) ∷ []
... | nothing   = []
one-beside-other (operation n p) (operation m q) = operation (n <> " | " <> m) (p ∣ q) ∷ []

-- All graphs with one or two operators.
ones twos sides : List Operation
ones  = operations
twos  = concatMap (λ a → concatMap (one-then-other a) operations) operations
sides = concatMap (λ a → concatMap (one-beside-other a) operations) operations

-- What arrives: in one run all at once, in the other in two parts.
elements-of : ∀ {t} → List ℕ → End → Maybe (Val t)
elements-of {base sequence} xs e              = just (val (xs , e))
elements-of {base (elements Kind.set)} xs e   = just (val (all xs , e))
  where
  open Weights (weights Kind.set) using (Map; []; set)
  all : List ℕ → Map
  all []       = []
  all (x ∷ xs) = set (all xs) x true
elements-of _ _                               = nothing

all-of : ∀ {ts} → List ℕ → End → Deltas ts
all-of {[]}     xs e = []
all-of {t ∷ ts} xs e = elements-of xs e ∷ all-of xs e

run-all : List ℕ → List ℕ → Operation → List String
run-all first second (operation name {I} p) =
  ("# " <> name) ∷ Explore.reached p (parts first)
  where
  parts : List ℕ → List (Deltas I)
  parts [] = all-of second arrived ∷ []
  parts xs = all-of xs open′ ∷ all-of second arrived ∷ []

report : List String
report = concatMap (run-all (1 ∷ 2 ∷ []) (2 ∷ [])) ones ++ concatMap (run-all (1 ∷ []) (2 ∷ [])) twos ++ concatMap (run-all [] (2 ∷ [])) sides
