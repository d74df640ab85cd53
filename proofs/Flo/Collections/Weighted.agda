{-# OPTIONS --safe #-}

-- Bags, sets and z-sets: finite maps from elements to weights, for any commutative monoid of weights.

module Flo.Collections.Weighted where

open import Data.Bool using (Bool; false; _∨_)
import Data.Bool as Bool
import Data.Bool.Properties as BoolP
open import Data.Integer using (ℤ)
import Data.Integer as Int
import Data.Integer.Properties as IntP
open import Data.Nat using (ℕ)
import Data.Nat as Nat
import Data.Nat.Properties as NatP
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong)
open import Relation.Nullary using (Dec)

open import Flo.Collection
import Flo.FiniteMap as FiniteMap

record Weights : Set₁ where
  infixl 6 _+_
  field
    W         : Set
    _+_       : W → W → W
    0#        : W
    +-assoc   : ∀ x y z → (x + y) + z ≡ x + (y + z)
    +-comm    : ∀ x y → x + y ≡ y + x
    +-zeroˡ   : ∀ x → 0# + x ≡ x
    zero?     : ∀ x → Dec (x ≡ 0#)

  +-zeroʳ : ∀ x → x + 0# ≡ x
  +-zeroʳ x = trans (+-comm x 0#) (+-zeroˡ x)

  open FiniteMap 0# zero? public

  infixl 6 _⊎_

  _⊎_ : Map → Map → Map
  _⊎_ = combine _+_

  ⊎-! : ∀ m n k → (m ⊎ n) ! k ≡ m ! k + n ! k
  ⊎-! = combine-! _+_ (+-zeroˡ 0#)

  ⊎-assoc : ∀ l m n → (l ⊎ m) ⊎ n ≡ l ⊎ (m ⊎ n)
  ⊎-assoc l m n = ext _ _ λ k →
    trans (⊎-! (l ⊎ m) n k) (trans (cong (_+ n ! k) (⊎-! l m k)) (trans (+-assoc _ _ _)
      (sym (trans (⊎-! l (m ⊎ n) k) (cong ((l ! k) +_) (⊎-! m n k))))))

  ⊎-comm : ∀ m n → m ⊎ n ≡ n ⊎ m
  ⊎-comm m n = ext _ _ λ k → trans (⊎-! m n k) (trans (+-comm _ _) (sym (⊎-! n m k)))

  ⊎-[]ˡ : ∀ m → [] ⊎ m ≡ m
  ⊎-[]ˡ m = ext _ _ λ k → trans (⊎-! [] m k) (+-zeroˡ (m ! k))

  ⊎-[]ʳ : ∀ m → m ⊎ [] ≡ m
  ⊎-[]ʳ m = trans (⊎-comm m []) (⊎-[]ˡ m)

  weighted : Collection
  weighted = WithEnd.collection _⊎_ [] ⊎-assoc ⊎-[]ˡ ⊎-[]ʳ empty?

naturals booleans integers : Weights
naturals = record
  { W = ℕ ; _+_ = Nat._+_ ; 0# = 0 ; +-assoc = NatP.+-assoc ; +-comm = NatP.+-comm ; +-zeroˡ = λ _ → refl
  ; zero? = λ x → x Nat.≟ 0 }
booleans = record
  { W = Bool ; _+_ = _∨_ ; 0# = false ; +-assoc = BoolP.∨-assoc ; +-comm = BoolP.∨-comm ; +-zeroˡ = λ _ → refl
  ; zero? = λ x → x Bool.≟ false }
integers = record
  { W = ℤ ; _+_ = Int._+_ ; 0# = Int.+ 0 ; +-assoc = IntP.+-assoc ; +-comm = IntP.+-comm ; +-zeroˡ = IntP.+-identityˡ
  ; zero? = λ x → x Int.≟ (Int.+ 0) }

data Kind : Set where
  bag set zset : Kind

-- A bag counts, a set only has elements, a z-set can retract.
weights : Kind → Weights
weights bag  = naturals
weights set  = booleans
weights zset = integers
