{-# OPTIONS --safe #-}

-- LVars (figure 16): a value that grows in a lattice.

module Flo.Collections.LVar where

open import Data.Nat using (ℕ; _⊔_)
import Data.Nat as Nat
import Data.Nat.Properties as NatP
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong)
open import Relation.Nullary using (Dec)

open import Flo.Collection

-- A join semilattice with a least element, in which equality can be decided.
record Lattice : Set₁ where
  infixl 6 _⊔ᴸ_
  field
    L         : Set
    _⊔ᴸ_      : L → L → L
    bottom    : L
    ⊔-assoc   : ∀ x y z → (x ⊔ᴸ y) ⊔ᴸ z ≡ x ⊔ᴸ (y ⊔ᴸ z)
    ⊔-comm    : ∀ x y → x ⊔ᴸ y ≡ y ⊔ᴸ x
    ⊔-idem    : ∀ x → x ⊔ᴸ x ≡ x
    ⊔-bottom  : ∀ x → bottom ⊔ᴸ x ≡ x
    _≟ᴸ_      : ∀ (x y : L) → Dec (x ≡ y)

  -- x ⊑ y: y is at least x.
  _⊑_ : L → L → Set
  x ⊑ y = y ⊔ᴸ x ≡ y

  _⊑?_ : ∀ x y → Dec (x ⊑ y)
  x ⊑? y = (y ⊔ᴸ x) ≟ᴸ y

  ⊑-grows : ∀ {t v} w → t ⊑ v → t ⊑ (v ⊔ᴸ w)
  ⊑-grows {t} {v} w p = trans (⊔-assoc v w t) (trans (cong (v ⊔ᴸ_) (⊔-comm w t))
    (trans (sym (⊔-assoc v t w)) (cong (_⊔ᴸ w) p)))

  lvar : Collection
  lvar = WithEnd.collection _⊔ᴸ_ bottom ⊔-assoc ⊔-bottom (λ x → trans (⊔-comm x bottom) (⊔-bottom x)) (_≟ᴸ bottom)

-- flo.Max over the naturals.
maximum : Lattice
maximum = record
  { L = ℕ ; _⊔ᴸ_ = _⊔_ ; bottom = 0 ; ⊔-assoc = NatP.⊔-assoc ; ⊔-comm = NatP.⊔-comm ; ⊔-idem = NatP.⊔-idem
  ; ⊔-bottom = λ _ → refl ; _≟ᴸ_ = Nat._≟_ }
