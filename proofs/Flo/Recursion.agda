{-# OPTIONS --safe #-}

-- Recursion on finite sets: the least fixpoint of a monotone body is reached by every schedule, from every start below
-- it. So a result that is continued after the inputs have changed equals one that is computed from nothing.

module Flo.Recursion where

open import Data.Fin using (Fin)
open import Data.Fin.Subset using (Subset; _⊆_; _⊂_; _∈_; _∉_; _∪_; ⊥; ⁅_⁆; ∣_∣)
open import Data.Fin.Subset.Properties
  using (_∈?_; ⊆-antisym; ⊆-trans; ⊥⊆; p⊆p∪q; q⊆p∪q; x∈p∪q⁻; x∈⁅x⁆; x∈⁅y⁆⇒x≡y; p⊂q⇒∣p∣<∣q∣; ∣p∣≤n)
open import Data.Fin.Properties using (any?)
open import Data.Nat using (ℕ; _∸_; _<_)
open import Data.Nat.Induction using (<-wellFounded)
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Sum using (inj₁; inj₂)
open import Data.Empty using (⊥-elim)
open import Induction.WellFounded using (Acc; acc)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; subst)
open import Relation.Nullary using (Dec; yes; no)
open import Relation.Nullary.Negation using (¬?)
open import Relation.Nullary.Product using (_×-dec_)

import Flo.Rewriting as Rewriting

Monotone : ∀ {n} → (Subset n → Subset n) → Set
Monotone F = ∀ {S T} → S ⊆ T → F S ⊆ F T

module Fixpoint {n : ℕ} (F : Subset n → Subset n) (monotone : Monotone F) where

  -- One step of a schedule: some elements that the body derives are added, at least one of them new. A whole round, its
  -- new rows only, and one row at a time are all such steps.
  data _⟶_ : Subset n → Subset n → Set where
    derive : ∀ {S} X → X ⊆ F S → S ⊂ (S ∪ X) → S ⟶ (S ∪ X)

  open Rewriting.Rewrite _⟶_

  Closed : Subset n → Set
  Closed S = F S ⊆ S

  Least : Subset n → Set
  Least S = Closed S × (∀ {T} → Closed T → S ⊆ T)

  -- Every schedule ends.
  terminating : Terminating
  terminating S = go S (<-wellFounded (n ∸ ∣ S ∣))
    where
    go : ∀ S → Acc _<_ (n ∸ ∣ S ∣) → Acc (λ y x → x ⟶ y) S
    go S (acc rs) = acc λ { _ (derive X _ grows) → go (S ∪ X) (rs _ (NatP.∸-monoʳ-< (p⊂q⇒∣p∣<∣q∣ grows) (∣p∣≤n (S ∪ X)))) }

  -- Where nothing is left to derive, the set is closed.
  stuck-closed : ∀ {S} → Stuck S → Closed S
  stuck-closed {S} st {x} x∈ with x ∈? S
  ... | yes old = old
  ... | no new  = ⊥-elim (st (derive ⁅ x ⁆ (λ y∈ → subst (_∈ F S) (sym (x∈⁅y⁆⇒x≡y x y∈)) x∈)
                      (p⊆p∪q ⁅ x ⁆ , x , q⊆p∪q S ⁅ x ⁆ (x∈⁅x⁆ x) , new)))

  -- Nothing is derived that is not in every closed set.
  below : ∀ {S S′ T} → S ⟶* S′ → S ⊆ T → Closed T → S′ ⊆ T
  below ε        le closed = le
  below (derive X X⊆ _ ◅ p) le closed = below p step≤ closed
    where
    step≤ : ∀ {x} → x ∈ (_ ∪ X) → x ∈ _
    step≤ {x} x∈ with x∈p∪q⁻ _ X x∈
    ... | inj₁ old = le old
    ... | inj₂ new = closed (monotone le (X⊆ new))

  can-derive? : ∀ S → Dec (∃ (S ⟶_))
  can-derive? S with any? (λ x → (x ∈? F S) ×-dec ¬? (x ∈? S))
  ... | yes (x , x∈ , new) = yes (_ , derive ⁅ x ⁆ (λ y∈ → subst (_∈ F S) (sym (x∈⁅y⁆⇒x≡y x y∈)) x∈)
                               (p⊆p∪q ⁅ x ⁆ , x , q⊆p∪q S ⁅ x ⁆ (x∈⁅x⁆ x) , new))
  ... | no none = no λ { (_ , derive X X⊆ (_ , x , x∈ , new)) → none (x , in-body X⊆ x∈ new , new) }
    where
    in-body : ∀ {X x} → X ⊆ F S → x ∈ (S ∪ X) → x ∉ S → x ∈ F S
    in-body {X} X⊆ x∈ new with x∈p∪q⁻ S X x∈
    ... | inj₁ old = ⊥-elim (new old)
    ... | inj₂ is  = X⊆ is

  -- From every start that is below the least fixpoint, every schedule ends, and ends in it.
  schedule-reaches : ∀ {S R L} → Least L → S ⊆ L → S ⟶* R → Stuck R → R ≡ L
  schedule-reaches (closed , least) le p st = ⊆-antisym (below p le closed) (least (stuck-closed st))

  -- The least fixpoint exists: it is where the schedules from nothing end.
  fixpoint : ∃ Least
  fixpoint = let S , p , st = run terminating can-derive? ⊥ in S , stuck-closed st , λ closed → below p ⊥⊆ closed

  μ : Subset n
  μ = proj₁ fixpoint

  -- All schedules from nothing reach the same set.
  same-for-every-schedule : ∀ {S T} → ⊥ ⟶* S → ⊥ ⟶* T → Stuck S → Stuck T → S ≡ T
  same-for-every-schedule p q ss st with schedule-reaches (proj₂ fixpoint) ⊥⊆ p ss | schedule-reaches (proj₂ fixpoint) ⊥⊆ q st
  ... | refl | refl = refl

-- A body with an input, monotone in it as well: joins, unions and projections of the input and the result so far.
module Incremental {m n : ℕ} (F : Subset m → Subset n → Subset n)
  (monotone : ∀ E → Monotone (F E)) (grows : ∀ {E E′} S → E ⊆ E′ → F E S ⊆ F E′ S) where

  module At (E : Subset m) = Fixpoint (F E) (monotone E)

  μ-grows : ∀ {E E′} → E ⊆ E′ → At.μ E ⊆ At.μ E′
  μ-grows {E} {E′} le = proj₂ (proj₂ (At.fixpoint E)) (⊆-trans (grows (At.μ E′) le) (proj₁ (proj₂ (At.fixpoint E′))))

  open Rewriting.Rewrite

  -- After insertions, the old result is continued. Every schedule gives what a run from nothing gives.
  insertions : ∀ {E E′ R} → E ⊆ E′ → _⟶*_ (At._⟶_ E′) (At.μ E) R → Stuck (At._⟶_ E′) R → R ≡ At.μ E′
  insertions {E} {E′} le p st = At.schedule-reaches E′ (proj₂ (At.fixpoint E′)) (μ-grows le) p st

  -- Which rows still belong to the result: those that are derived from kept rows of earlier rounds. Rows that are only
  -- derived from each other have no such rounds.
  derived-is-right : ∀ {E′ S} (round : Fin n → ℕ) →
    (∀ {x} → x ∈ S → ∃ λ T → (∀ {y} → y ∈ T → (y ∈ S) × (round y < round x)) × (x ∈ F E′ T)) → S ⊆ At.μ E′
  derived-is-right {E′} {S} round derived {x} x∈ = go x∈ (<-wellFounded (round x))
    where
    go : ∀ {x} → x ∈ S → Acc _<_ (round x) → x ∈ At.μ E′
    go x∈ (acc rs) with derived x∈
    ... | T , earlier , is = proj₁ (proj₂ (At.fixpoint E′))
      (monotone E′ (λ y∈ → go (proj₁ (earlier y∈)) (rs _ (proj₂ (earlier y∈)))) is)

  -- After deletions, any part of the old result may be kept that still belongs to the new one.
  deletions : ∀ {E′ S R} → S ⊆ At.μ E′ → _⟶*_ (At._⟶_ E′) S R → Stuck (At._⟶_ E′) R → R ≡ At.μ E′
  deletions {E′} le p st = At.schedule-reaches E′ (proj₂ (At.fixpoint E′)) le p st
