{-# OPTIONS --safe #-}

-- L^C: one collection, its concatenation, the empty delta and fix, with their laws.

module Flo.Collection where

open import Data.Empty using (⊥)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong)
open import Relation.Nullary using (¬_; Dec; yes; no)

-- flo.core.collection.End: an end that has arrived and one that was passed on are different values.
data End : Set where
  open′ arrived passed : End

data Ended : End → Set where
  arrived : Ended arrived
  passed  : Ended passed

ended? : ∀ e → Dec (Ended e)
ended? open′   = no λ ()
ended? arrived = yes arrived
ended? passed  = yes passed

-- The end after a delta: that of the left side if it has one.
_▷_ : End → End → End
open′   ▷ e = e
arrived ▷ _ = arrived
passed  ▷ _ = passed

-- The end that fix gives.
close : End → End
close open′   = arrived
close arrived = arrived
close passed  = passed

record Collection : Set₁ where
  infixl 5 _++_
  field
    Value  : Set
    _++_   : Value → Value → Value
    ∅      : Value
    fix    : Value → Value
    Fixed  : Value → Set

    -- The laws of docs/laws.md.
    fix-fixes     : ∀ c → Fixed (fix c)
    fixed-absorbs : ∀ {c} → Fixed c → ∀ d → c ++ d ≡ c
    identityʳ     : ∀ c → c ++ ∅ ≡ c

    -- What Flo's collections have besides: ∅ is ⊥, where a stream begins; a delta may be cut.
    identityˡ     : ∀ d → ∅ ++ d ≡ d
    assoc         : ∀ c d e → (c ++ d) ++ e ≡ c ++ (d ++ e)
    fixed?        : ∀ c → Dec (Fixed c)
    open-∅        : ¬ Fixed ∅
