{-# OPTIONS --safe #-}

-- threshold with several values. They exclude each other: an input that reaches two of them is an error. Errors are not
-- modelled, so this operator has no steps there, and it is eager only where the input reaches at most one.

open import Flo.Collections.LVar using (Lattice)

module Flo.Operators.Thresholds (lattice : Lattice) where

open import Data.Empty using (⊥; ⊥-elim)
open import Data.List using (List; []; _∷_; [_])
open import Data.List.Relation.Unary.Any using (Any; here)
open import Data.Maybe using (just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Induction.WellFounded using (WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans)
open import Relation.Nullary using (yes; no)

open import Flo.Collection
open import Flo.Language lattice
open Lattice lattice hiding (lvar)
open import Flo.Operators.Threshold lattice using (LV; Sq; Watch; waiting; over)

pattern lv v e = val (v , e) ∷ []
pattern at v = v ∷ []

-- The thresholds that a value has reached, of those given, each with the element that stands for it.
reached : List (L × ℕ) → L → List (L × ℕ)
reached []             v = []
reached ((t , k) ∷ ts) v with t ⊑? v
... | yes _ = (t , k) ∷ reached ts v
... | no _  = reached ts v

-- At most one.
Consistent : List (L × ℕ) → Set
Consistent (_ ∷ _ ∷ _) = ⊥
Consistent _           = ⊤

-- A threshold that is reached stays the only one, if the value that has grown does not reach another.
stays : ∀ ts {v x} w → reached ts v ≡ [ x ] → Consistent (reached ts (v ⊔ᴸ w)) → reached ts (v ⊔ᴸ w) ≡ [ x ]
stays ((t , k) ∷ ts) {v} w p c with t ⊑? v | t ⊑? (v ⊔ᴸ w)
... | yes q | no n = ⊥-elim (n (⊑-grows w q))
... | no _  | no _ = stays ts w p c
... | yes _ | yes _ with reached ts (v ⊔ᴸ w) | reached ts v | p
...   | [] | [] | refl = refl
stays ((t , k) ∷ ts) {v} w p c | no _ | yes _ with reached ts (v ⊔ᴸ w) | stays ts {v} w p
... | [] | only with only tt
...   | ()

module Of (ts : List (L × ℕ)) where

  data Fires : Watch × Vals (LV ∷ []) → Watch × Vals (LV ∷ []) → Deltas (Sq ∷ []) → Set where
    lvar-threshold : ∀ {v e x} → reached ts v ≡ [ x ] → e ≢ passed →
      Fires (waiting , lv v e) (over , lv v e) (just (val ([ proj₂ x ] , arrived)) ∷ [])
    lvar-threshold-terminated : ∀ {v} → reached ts v ≡ [] →
      Fires (waiting , lv v arrived) (over , lv bottom passed) (just (val ([] , arrived)) ∷ [])

  enabled : ∀ v e rs → reached ts v ≡ rs → List (∃ λ s′ → ∃ λ o → Fires (waiting , lv v e) s′ o)
  enabled v open′   (x ∷ []) p = [ _ , _ , lvar-threshold p (λ ()) ]
  enabled v arrived (x ∷ []) p = [ _ , _ , lvar-threshold p (λ ()) ]
  enabled v arrived []       p = [ _ , _ , lvar-threshold-terminated p ]
  enabled v _       _        p = []

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (over , _)         = []
  fires (waiting , lv v e) = enabled v e (reached ts v) refl

  complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
  complete (lvar-threshold {v} {e} {x} p n) = listed e n (reached ts v) refl p
    where
    listed : ∀ e → e ≢ passed → ∀ rs (q : reached ts v ≡ rs) → rs ≡ [ x ] →
      Any (λ y → (proj₁ y ≡ (over , lv v e)) × (proj₁ (proj₂ y) ≡ (just (val ([ proj₂ x ] , arrived)) ∷ []))) (enabled v e rs q)
    listed open′   n _ q refl = here (refl , refl)
    listed arrived n _ q refl = here (refl , refl)
    listed passed  n _ q refl = ⊥-elim (n refl)
  complete (lvar-threshold-terminated {v} p) = listed (reached ts v) refl p
    where
    listed : ∀ rs (q : reached ts v ≡ rs) → rs ≡ [] →
      Any (λ y → (proj₁ y ≡ (over , lv bottom passed)) × (proj₁ (proj₂ y) ≡ (just (val ([] , arrived)) ∷ []))) (enabled v arrived rs q)
    listed _ q refl = here (refl , refl)

  operator′ : Operator (LV ∷ []) (Sq ∷ [])
  operator′ = record
    { Expr = Watch ; begin = waiting ; Fires = Fires ; fires = fires ; complete = complete
    ; rule = λ { (lvar-threshold _ _) → "lvar-threshold" ; (lvar-threshold-terminated _) → "lvar-threshold-terminated" } }

  open Machine (Operator.node operator′)

  measure : State → ℕ
  measure (waiting , _) = 1
  measure (over , _)    = 0

  falls : ∀ {s t o} → Fires s t o → measure t < measure s
  falls (lvar-threshold _ _)          = s≤s z≤n
  falls (lvar-threshold-terminated _) = s≤s z≤n

  terminates : WellFounded (λ t s → ∃ λ o → Fires s t o)
  terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t})

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent (lvar-threshold p _) (lvar-threshold q _) with trans (sym p) q
  ... | refl = join-≡ refl ≋-refl
  confluent (lvar-threshold p _) (lvar-threshold-terminated q) with trans (sym p) q
  ... | ()
  confluent (lvar-threshold-terminated q) (lvar-threshold p _) with trans (sym p) q
  ... | ()
  confluent (lvar-threshold-terminated _) (lvar-threshold-terminated _) = join-≡ refl ≋-refl

  -- The input does not contradict itself.
  Sound : State → Set
  Sound (_ , lv v _) = Consistent (reached ts v)

  reached-open : ∀ f → reach f ≢ passed
  reached-open open′   ()
  reached-open arrived ()
  reached-open passed  ()

  eager-if-sound : ∀ {s t o} d → Sound (push s d) → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager-if-sound (at nothing) c x@(lvar-threshold _ _)          = joined (x ◅ ε) ε ≋-refl
  eager-if-sound (at nothing) c x@(lvar-threshold-terminated _) = joined (x ◅ ε) ε ≋-refl
  eager-if-sound (at (just (val (w , f)))) c (lvar-threshold {e = open′} p n) =
    joined (lvar-threshold (stays ts w p c) (reached-open f) ◅ ε) ε ≋-refl
  eager-if-sound (at (just (val _))) c (lvar-threshold {e = arrived} p n)     = joined (lvar-threshold p n ◅ ε) ε ≋-refl
  eager-if-sound (at (just (val _))) c (lvar-threshold {e = passed} p n)      = ⊥-elim (n refl)
  eager-if-sound (at (just (val _))) c (lvar-threshold-terminated p)          = joined (lvar-threshold-terminated p ◅ ε) ε ≋-refl
