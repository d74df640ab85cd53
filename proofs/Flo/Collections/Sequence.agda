{-# OPTIONS --safe #-}

-- Ordered sequences (figure 13), oldest element first.

module Flo.Collections.Sequence (A : Set) where

open import Data.List using (List; []; _∷_; _++_)
open import Data.List.Properties using (++-assoc; ++-identityʳ)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)
open import Relation.Nullary using (Dec; yes; no)

open import Flo.Collection

empty? : (xs : List A) → Dec (xs ≡ [])
empty? []      = yes refl
empty? (_ ∷ _) = no λ ()

sequence : Collection
sequence = WithEnd.collection _++_ [] ++-assoc (λ _ → refl) ++-identityʳ empty?
