{-# OPTIONS --safe #-}

-- The collections of Flo that the operators below work on. Elements are natural numbers, which stand for any countable
-- type; the lattice is any one.

open import Flo.Collections.LVar using (Lattice)

module Flo.Language (lattice : Lattice) where

open import Data.Nat using (ℕ)

open import Flo.Collection
import Flo.Collections.Sequence as Sequence
open import Flo.Collections.Weighted using (Weights; Kind; weights)

data Name : Set where
  sequence lvar : Name
  elements      : Kind → Name

collection : Name → Collection
collection sequence     = Sequence.sequence ℕ
collection lvar         = Lattice.lvar lattice
collection (elements k) = Weights.weighted (weights k)

open import Flo.Value collection public
open import Flo.Machine collection public
open import Flo.Composition collection public
open import Flo.Progress collection public
open import Flo.Graph collection public
