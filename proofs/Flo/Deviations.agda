{-# OPTIONS --safe #-}

-- Three of the printed rules and statements that fall short, refuted (docs/deviations.md, 1, 2 and 26).

module Flo.Deviations where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; [_])
open import Data.List.Relation.Unary.Any using (Any; here)
open import Data.Maybe using (just; nothing)
open import Data.Nat using (ℕ; _⊔_; _<_; z≤n; s≤s)
import Data.Nat as Nat
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl)
open import Relation.Nullary using (yes; no; ¬_)

open import Flo.Collection
open import Flo.Collections.LVar using (maximum)
open import Flo.Collections.Weighted using (Kind; Weights; weights)
open import Flo.Language maximum

------------------------------------------------------------------------
-- 1. `join-zset` steps on nothing: as printed, it has no premise.

module PrintedJoin where
  open Weights (weights Kind.zset)
  open import Flo.Operators.Join maximum using (Z; change; out)

  data Step : (Map × Map) × Vals (Z ∷ Z ∷ []) → (Map × Map) × Vals (Z ∷ Z ∷ []) → Deltas (Z ∷ []) → Set where
    join-zset : ∀ {M N m n e f} → Step ((M , N) , val (m , e) ∷ val (n , f) ∷ [])
      ((M ⊎ m , N ⊎ n) , val ([] , e) ∷ val ([] , f) ∷ []) (out (change M N m n))

  -- A step from a state to itself.
  steps-forever : ∃ λ s → ∃ λ o → Step s s o
  steps-forever = (([] , []) , val ([] , open′) ∷ val ([] , open′) ∷ []) , _ , join-zset

  never-below-itself : ∀ {A : Set} {_<_ : A → A → Set} {x} → Acc _<_ x → ¬ (x < x)
  never-below-itself (acc rs) p = never-below-itself (rs _ p) p

  -- Lemma 3.1 (Operator Stuck State) does not hold for the printed rule.
  never-stuck : ¬ WellFounded (λ t s → ∃ λ o → Step s t o)
  never-stuck wf = let s , again = steps-forever in never-below-itself (wf s) again

------------------------------------------------------------------------
-- 2. `lvar-threshold` and `lvar-threshold-terminated` race.

module PrintedThreshold where
  LV Sq : Ty
  LV = base lvar
  Sq = base sequence

  data Fires : ⊤ × Vals (LV ∷ []) → ⊤ × Vals (LV ∷ []) → Deltas (Sq ∷ []) → Set where
    lvar-threshold : ∀ {v e} → v ⊔ 5 ≡ v → e ≢ passed →
      Fires (tt , val (v , e) ∷ []) (tt , val (0 , passed) ∷ []) (just (val ([ 5 ] , open′)) ∷ [])
    lvar-threshold-terminated : ∀ {v} →
      Fires (tt , val (v , arrived) ∷ []) (tt , val (0 , passed) ∷ []) (just (val ([] , arrived)) ∷ [])

  -- The relation →^O on configurations.
  data _⟶_ : Vals (LV ∷ []) × Vals (Sq ∷ []) → Vals (LV ∷ []) × Vals (Sq ∷ []) → Set where
    step : ∀ {s t o w} → Fires (tt , s) (tt , t) o → (s , w) ⟶ (t , w ⊕ o)

  open import Flo.Rewriting
  open Rewrite _⟶_

  stuck : ∀ {w} → Stuck (val (0 , passed) ∷ [] , w)
  stuck (step (lvar-threshold _ n)) = n refl

  -- The condition of §3.4 that →^O is confluent does not hold for the printed rules.
  not-confluent : ¬ Confluent
  not-confluent confluent with unique-stuck confluent
    (step {s = val (7 , arrived) ∷ []} {w = val ([] , open′) ∷ []} (lvar-threshold refl (λ ())) ◅ ε)
    (step lvar-threshold-terminated ◅ ε) stuck stuck
  ... | ()

------------------------------------------------------------------------
-- 26. Eager execution of operators (Definition 3.1) asks nothing where a delta disables the step. So an operator may be
-- eager by 3.1, and a graph of it not by 4.2, which Lemma 4.3 claims of every graph.

module EndsAt where
  LV Sq : Ty
  LV = base lvar
  Sq = base sequence

  gone : Vals (LV ∷ [])
  gone = val (0 , passed) ∷ []

  end′ : Deltas (Sq ∷ [])
  end′ = just (val ([] , arrived)) ∷ []

  -- It ends its output while its input is 5, or when its input ends.
  data Fires : ⊤ × Vals (LV ∷ []) → ⊤ × Vals (LV ∷ []) → Deltas (Sq ∷ []) → Set where
    at-value : ∀ {v} → v ≡ 5 → Fires (tt , val (v , open′) ∷ []) (tt , gone) end′
    at-end   : ∀ {v} → Fires (tt , val (v , arrived) ∷ []) (tt , gone) end′

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (tt , val (v , arrived) ∷ []) = [ _ , _ , at-end ]
  fires (tt , val (v , passed) ∷ [])  = []
  fires (tt , val (v , open′) ∷ [])   with v Nat.≟ 5
  ... | yes p = [ _ , _ , at-value p ]
  ... | no _  = []

  complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
  complete at-end = here (refl , refl)
  complete (at-value {v} p) with v Nat.≟ 5
  ... | yes _ = here (refl , refl)
  ... | no n  = ⊥-elim (n p)

  ends-at : Operator (LV ∷ []) (Sq ∷ [])
  ends-at = record { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = fires ; complete = complete ; rule = λ _ → "ends-at" }

  open Machine (Operator.node ends-at)

  -- Definition 3.1: where both can step, both reach one stuck state.
  Eager₃ : Set
  Eager₃ = ∀ {s t u o p} d w → Fires s t o → Fires (push s d) u p →
    ∃ λ f → Stuck f × ((push t d , w ⊕ o) ⟶* f) × ((u , w ⊕ p) ⟶* f)

  -- Definition 4.2.
  Eager₄ : Set
  Eager₄ = ∀ {s t o} d w → Fires s t o → ∃ λ f → Stuck f × ((push s d , w) ⟶* f) × ((push t d , w ⊕ o) ⟶* f)

  gone-stuck : ∀ {w} → Stuck ((tt , gone) , w)
  gone-stuck (step ())

  stays-gone : ∀ d → push (tt , gone) d ≡ (tt , gone)
  stays-gone (nothing ∷ [])        = refl
  stays-gone (just (val _) ∷ [])   = refl

  target : ∀ {s t o} → Fires s t o → (t ≡ (tt , gone)) × (o ≡ end′)
  target (at-value _) = refl , refl
  target at-end       = refl , refl

  -- The operator has every property that §3 asks for: its measure falls, it is confluent, and eager by 3.1.
  measure : State → ℕ
  measure (_ , val (_ , passed) ∷ []) = 0
  measure _                           = 1

  falls : ∀ {s t o} → Fires s t o → measure t < measure s
  falls (at-value _) = s≤s z≤n
  falls at-end       = s≤s z≤n

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent x y with target x | target y
  ... | refl , refl | refl , refl = join-≡ refl ≋-refl

  eager₃ : Eager₃
  eager₃ d w x y with target x | target y
  ... | refl , refl | refl , refl rewrite stays-gone d = _ , gone-stuck , Rw.ε , Rw.ε

  -- And the graph of it alone is not eager by 4.2.
  not-eager₄ : ¬ Eager₄
  not-eager₄ eager with eager {tt , val (5 , open′) ∷ []} (just (val (6 , open′)) ∷ []) (val ([] , open′) ∷ []) (at-value refl)
  ... | _ , st , Rw.ε , (step () Rw.◅ _)
  ... | _ , st , (step (at-value ()) Rw.◅ _) , _

  refuted : ¬ (Eager₃ → Eager₄)
  refuted claim = not-eager₄ (claim eager₃)
