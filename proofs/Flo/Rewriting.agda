{-# OPTIONS --safe #-}

-- Abstract rewriting: chains of steps, normal forms, and Newman's lemma.

module Flo.Rewriting where

open import Data.Product using (∃; _×_; _,_)
open import Data.Empty using (⊥-elim)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)
open import Relation.Nullary using (¬_; Dec; yes; no)

module Rewrite {X : Set} (_⟶_ : X → X → Set) where

  infixr 5 _◅_ _◅◅_

  -- Any number of steps.
  data _⟶*_ : X → X → Set where
    ε   : ∀ {x} → x ⟶* x
    _◅_ : ∀ {x y z} → x ⟶ y → y ⟶* z → x ⟶* z

  _◅◅_ : ∀ {x y z} → x ⟶* y → y ⟶* z → x ⟶* z
  ε        ◅◅ q = q
  (s ◅ p)  ◅◅ q = s ◅ (p ◅◅ q)

  Stuck : X → Set
  Stuck x = ∀ {y} → ¬ (x ⟶ y)

  -- Two states that some steps lead to the same state.
  _⇊_ : X → X → Set
  x ⇊ y = ∃ λ z → (x ⟶* z) × (y ⟶* z)

  LocallyConfluent Confluent Terminating : Set
  LocallyConfluent = ∀ {x y z} → x ⟶ y → x ⟶ z → y ⇊ z
  Confluent        = ∀ {x y z} → x ⟶* y → x ⟶* z → y ⇊ z
  Terminating      = WellFounded (λ y x → x ⟶ y)

  -- Newman's lemma.
  newman : Terminating → LocallyConfluent → Confluent
  newman wf local {x} = go (wf x)
    where
    go : ∀ {x y z} → Acc (λ y x → x ⟶ y) x → x ⟶* y → x ⟶* z → y ⇊ z
    go _        ε       q       = _ , q , ε
    go _        (s ◅ p) ε       = _ , ε , (s ◅ p)
    go (acc rs) (s ◅ p) (t ◅ q) =
      let w , s↓ , t↓ = local s t
          u , p↓ , w↓ = go (rs _ s) p s↓
          v , wv , q↓ = go (rs _ t) (t↓ ◅◅ w↓) q
      in v , (p↓ ◅◅ wv) , q↓

  stuck-stays : ∀ {x y} → Stuck x → x ⟶* y → x ≡ y
  stuck-stays st ε       = refl
  stuck-stays st (s ◅ _) = ⊥-elim (st s)

  -- A stuck state is the only one.
  unique-stuck : Confluent → ∀ {x y z} → x ⟶* y → x ⟶* z → Stuck y → Stuck z → y ≡ z
  unique-stuck con p q sy sz with con p q
  ... | w , yw , zw with stuck-stays sy yw | stuck-stays sz zw
  ... | refl | refl = refl

  -- A stuck state that is joinable with a state is reached from it.
  reached : ∀ {x y} → Stuck y → x ⇊ y → x ⟶* y
  reached st (_ , p , q) with stuck-stays st q
  ... | refl = p

  ⇊-trans : Confluent → ∀ {x y z} → x ⇊ y → y ⇊ z → x ⇊ z
  ⇊-trans con (_ , p , q) (_ , r , s) =
    let w , a , b = con q r in w , (p ◅◅ a) , (s ◅◅ b)

  -- Where steps end and can be found, every state reaches a stuck one.
  run : Terminating → (∀ x → Dec (∃ (x ⟶_))) → ∀ x → ∃ λ y → (x ⟶* y) × Stuck y
  run wf step? x = go x (wf x)
    where
    go : ∀ x → Acc (λ y x → x ⟶ y) x → ∃ λ y → (x ⟶* y) × Stuck y
    go x (acc rs) with step? x
    ... | no none     = x , ε , λ s → none (_ , s)
    ... | yes (y , s) = let z , p , st = go y (rs y s) in z , (s ◅ p) , st
