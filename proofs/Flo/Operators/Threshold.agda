{-# OPTIONS --safe #-}

-- threshold with one value (figure 18), with the amendments of docs/deviations.md, 2 and 14: the value and the end are
-- emitted together, and the rule for the end is for an LVar that ends below the threshold.

open import Flo.Collections.LVar using (Lattice)

module Flo.Operators.Threshold (lattice : Lattice) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; [_])
open import Data.List.Relation.Unary.Any using (Any; here)
open import Data.Maybe using (just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)
open import Relation.Nullary using (yes; no; ¬_)

open import Flo.Collection
open import Flo.Language lattice
open Lattice lattice hiding (lvar)

LV Sq : Ty
LV = base lvar
Sq = base sequence

-- Whether the operator has emitted its end. In Flo the ⊗ in its buffer says so.
data Watch : Set where
  waiting over : Watch

pattern lv v e = val (v , e) ∷ []
pattern seq xs e = val (xs , e) ∷ []
pattern at v = v ∷ []

-- The threshold is a lattice value; `event` is the element that stands for it.
module Of (t : L) (event : ℕ) where

  data Fires : Watch × Vals (LV ∷ []) → Watch × Vals (LV ∷ []) → Deltas (Sq ∷ []) → Set where
    lvar-threshold : ∀ {v e} → t ⊑ v →
      Fires (waiting , lv v e) (over , lv bottom passed) (just (val ([ event ] , arrived)) ∷ [])
    lvar-threshold-terminated : ∀ {v} → ¬ (t ⊑ v) →
      Fires (waiting , lv v arrived) (over , lv bottom passed) (just (val ([] , arrived)) ∷ [])

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (over , _) = []
  fires (waiting , lv v e) with t ⊑? v
  fires (waiting , lv v e)       | yes p = [ _ , _ , lvar-threshold p ]
  fires (waiting , lv v arrived) | no n  = [ _ , _ , lvar-threshold-terminated n ]
  fires (waiting , lv v open′)   | no n  = []
  fires (waiting , lv v passed)  | no n  = []

  complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
  complete (lvar-threshold {v} p) with t ⊑? v
  ... | yes _ = here (refl , refl)
  ... | no n  = ⊥-elim (n p)
  complete (lvar-threshold-terminated {v} n) with t ⊑? v
  ... | yes p = ⊥-elim (n p)
  ... | no _  = here (refl , refl)

  operator′ : Operator (LV ∷ []) (Sq ∷ [])
  operator′ = record
    { Expr = Watch ; begin = waiting ; Fires = Fires ; fires = fires ; complete = complete
    ; rule = λ { (lvar-threshold _) → "lvar-threshold" ; (lvar-threshold-terminated _) → "lvar-threshold-terminated" } }

  open Machine (Operator.node operator′)

  measure : State → ℕ
  measure (waiting , _) = 1
  measure (over , _)    = 0

  falls : ∀ {s t o} → Fires s t o → measure t < measure s
  falls (lvar-threshold _)            = s≤s z≤n
  falls (lvar-threshold-terminated _) = s≤s z≤n

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent (lvar-threshold _)            (lvar-threshold _)            = join-≡ refl ≋-refl
  confluent (lvar-threshold p)            (lvar-threshold-terminated n) = ⊥-elim (n p)
  confluent (lvar-threshold-terminated n) (lvar-threshold p)            = ⊥-elim (n p)
  confluent (lvar-threshold-terminated _) (lvar-threshold-terminated _) = join-≡ refl ≋-refl

  -- A threshold that is passed stays passed: the LVar only grows.
  eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager (at nothing)              (lvar-threshold p)             = joined (lvar-threshold p ◅ ε) ε ≋-refl
  eager (at (just (val (w , f)))) (lvar-threshold {e = open′} p) = joined (lvar-threshold (⊑-grows w p) ◅ ε) ε ≋-refl
  eager (at (just (val _)))       (lvar-threshold {e = arrived} p) = joined (lvar-threshold p ◅ ε) ε ≋-refl
  eager (at (just (val _)))       (lvar-threshold {e = passed} p)  = joined (lvar-threshold p ◅ ε) ε ≋-refl
  eager (at nothing)        (lvar-threshold-terminated n) = joined (lvar-threshold-terminated n ◅ ε) ε ≋-refl
  eager (at (just (val _))) (lvar-threshold-terminated n) = joined (lvar-threshold-terminated n ◅ ε) ε ≋-refl

  lawful′ : Lawful (Operator.node operator′)
  lawful′ = record { terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t}) ; confluent = confluent ; eager = eager }

  data Typed : Flags (LV ∷ []) → Flags (Sq ∷ []) → Set where
    lvar-threshold-type : ∀ {f} → Typed (f ∷ []) (f ∷ [])

  over-stuck : ∀ {v w} → Stuck ((over , v) , w)
  over-stuck (step ())

  progress′ : ∀ {f} → Progress (Operator.node operator′) (f ∷ []) (f ∷ [])
  progress′ {f} = progress-by _ lawful′ known
    where
    known : ∀ v → Complete (f ∷ []) v → ∃ λ s → ∃ λ w → (((waiting , v) , ∅s) ⟶* (s , w)) × Stuck (s , w) ×
      Complete (f ∷ []) w × Maximal (Operator.node operator′) v w
    known (lv v e) c with t ⊑? v
    ... | yes p = _ , _ , (step (lvar-threshold p) Rw.◅ Rw.ε) , over-stuck , ((arrived , λ _ → arrived) ∷ []) ,
                  _ , (step (lvar-threshold p) Rw.◅ Rw.ε) , over-stuck
    known (lv v arrived) c | no n =
      _ , _ , (step (lvar-threshold-terminated n) Rw.◅ Rw.ε) , over-stuck , ((arrived , λ _ → arrived) ∷ []) ,
      _ , (step (lvar-threshold-terminated n) Rw.◅ Rw.ε) , over-stuck
    known (lv v open′) ((_ , b) ∷ []) | no n =
      _ , _ , Rw.ε , (λ { (step (lvar-threshold p)) → n p }) , ((open′ , b′) ∷ []) ,
      _ , (step (lvar-threshold-terminated n) Rw.◅ Rw.ε) , over-stuck
      where
      b′ : f ≡ B → Ended open′
      b′ eq with b eq
      ... | ()
    known (lv v passed) ((() , _) ∷ []) | no n

  threshold′ : Graph (LV ∷ []) (Sq ∷ [])
  threshold′ = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { lvar-threshold-type → progress′ } }
