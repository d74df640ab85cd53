{-# OPTIONS --safe #-}

-- Finite maps from elements to weights that are not zero: the cardinality maps M of §6.3. An element stands for any
-- countable type, as a natural number. The representation is canonical: equal weights everywhere mean equal maps.

open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans; cong; cong₂; subst)
open import Relation.Nullary using (Dec; yes; no; ¬_)

module Flo.FiniteMap {W : Set} (0# : W) (zero? : (w : W) → Dec (w ≡ 0#)) where

open import Data.Empty using (⊥-elim)
import Data.Empty.Irrelevant as Irr
open import Data.List using (List; []; _∷_)
open import Data.List.Relation.Unary.Any using (Any; here; there)
open import Data.Nat using (ℕ; zero; suc; _≤_; _<_; z≤n; s≤s; _+_)
import Data.Nat as Nat
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _,_; proj₁)

-- Weights of 0, 1, 2, …: the last one is not zero.
data Trail : Set where
  end : (w : W) → .(w ≢ 0#) → Trail
  _∷_ : W → Trail → Trail

data Map : Set where
  []    : Map
  trail : Trail → Map

at : Trail → ℕ → W
at (end w _) zero    = w
at (end w _) (suc _) = 0#
at (w ∷ t)   zero    = w
at (w ∷ t)   (suc k) = at t k

infixl 8 _!_

_!_ : Map → ℕ → W
[]      ! _ = 0#
trail t ! k = at t k

cons : W → Map → Map
cons w (trail t) = trail (w ∷ t)
cons w []        with zero? w
... | yes _ = []
... | no nz = trail (end w nz)

cons-zero : ∀ w m → cons w m ! zero ≡ w
cons-zero w (trail t) = refl
cons-zero w []        with zero? w
... | yes z = sym z
... | no _  = refl

cons-suc : ∀ w m k → cons w m ! suc k ≡ m ! k
cons-suc w (trail t) k = refl
cons-suc w []        k with zero? w
... | yes _ = refl
... | no _  = refl

-- Some weight of a trail is not zero.
some : ∀ t → ∃ λ k → ¬ (at t k ≡ 0#)
some (end w nz) = zero , λ z → Irr.⊥-elim (nz z)
some (w ∷ t)    = let k , nz = some t in suc k , nz

trail-ext : ∀ s t → (∀ k → at s k ≡ at t k) → s ≡ t
trail-ext (end v _) (end w _) p with p zero
... | refl = refl
trail-ext (end v _) (w ∷ t) p = let k , nz = some t in ⊥-elim (nz (sym (p (suc k))))
trail-ext (v ∷ s) (end w _) p = let k , nz = some s in ⊥-elim (nz (p (suc k)))
trail-ext (v ∷ s) (w ∷ t) p = cong₂ _∷_ (p zero) (trail-ext s t (λ k → p (suc k)))

ext : ∀ m n → (∀ k → m ! k ≡ n ! k) → m ≡ n
ext []        []        p = refl
ext []        (trail t) p = let k , nz = some t in ⊥-elim (nz (sym (p k)))
ext (trail s) []        p = let k , nz = some s in ⊥-elim (nz (p k))
ext (trail s) (trail t) p = cong trail (trail-ext s t p)

-- The map as a weight and the rest.
head : Map → W
head m = m ! zero

tail : Map → Map
tail []                = []
tail (trail (end _ _)) = []
tail (trail (_ ∷ t))   = trail t

tail-! : ∀ m k → tail m ! k ≡ m ! suc k
tail-! []                k = refl
tail-! (trail (end _ _)) k = refl
tail-! (trail (_ ∷ t))   k = refl

length : Map → ℕ
length []        = 0
length (trail t) = go t
  where
  go : Trail → ℕ
  go (end _ _) = 1
  go (_ ∷ t)   = suc (go t)

-- Pointwise combination.
module _ (f : W → W → W) where

  build : ℕ → Map → Map → Map
  build zero    m n = []
  build (suc l) m n = cons (f (head m) (head n)) (build l (tail m) (tail n))

  combine : Map → Map → Map
  combine m n = build (length m Nat.⊔ length n) m n

beyond : ∀ m k → length m ≤ k → m ! k ≡ 0#
beyond []                k       _         = refl
beyond (trail (end _ _)) (suc k) _         = refl
beyond (trail (_ ∷ t))   (suc k) (s≤s le)  = beyond (trail t) k le

length-tail : ∀ m {l} → length m ≤ suc l → length (tail m) ≤ l
length-tail []                _        = z≤n
length-tail (trail (end _ _)) _        = z≤n
length-tail (trail (_ ∷ t))   (s≤s le) = le

module _ (f : W → W → W) (f-0 : f 0# 0# ≡ 0#) where

  build-! : ∀ l m n k → length m ≤ l → length n ≤ l → build f l m n ! k ≡ f (m ! k) (n ! k)
  build-! zero m n k p q = sym (trans (cong₂ f (beyond m k (NatP.≤-trans p z≤n)) (beyond n k (NatP.≤-trans q z≤n))) f-0)
  build-! (suc l) m n zero    p q = cons-zero _ (build f l (tail m) (tail n))
  build-! (suc l) m n (suc k) p q = trans (cons-suc _ (build f l (tail m) (tail n)) k)
    (trans (build-! l (tail m) (tail n) k (length-tail m p) (length-tail n q)) (cong₂ f (tail-! m k) (tail-! n k)))

  combine-! : ∀ m n k → combine f m n ! k ≡ f (m ! k) (n ! k)
  combine-! m n k = build-! _ m n k (NatP.m≤m⊔n (length m) (length n)) (NatP.m≤n⊔m (length m) (length n))

-- Set one weight.
set : Map → ℕ → W → Map
set m zero    w = cons w (tail m)
set m (suc k) w = cons (head m) (set (tail m) k w)

set-same : ∀ m k w → set m k w ! k ≡ w
set-same m zero    w = cons-zero w (tail m)
set-same m (suc k) w = trans (cons-suc (head m) (set (tail m) k w) k) (set-same (tail m) k w)

set-other : ∀ m k j w → j ≢ k → set m k w ! j ≡ m ! j
set-other m zero    zero    w ne = ⊥-elim (ne refl)
set-other m zero    (suc j) w ne = trans (cons-suc w (tail m) j) (tail-! m j)
set-other m (suc k) zero    w ne = cons-zero (head m) (set (tail m) k w)
set-other m (suc k) (suc j) w ne = trans (cons-suc (head m) (set (tail m) k w) j)
  (trans (set-other (tail m) k j w (λ e → ne (cong suc e))) (tail-! m j))

only : ℕ → W → Map
only k w = set [] k w

drop : Map → ℕ → Map
drop m k = set m k 0#

-- The number of elements falls when one is dropped.
weigh : W → ℕ
weigh w with zero? w
... | yes _ = 0
... | no _  = 1

size : Map → ℕ
size []        = 0
size (trail t) = go t
  where
  go : Trail → ℕ
  go (end w _) = weigh w
  go (w ∷ t)   = weigh w + go t

size-cons : ∀ w m → size (cons w m) ≡ weigh w + size m
size-cons w (trail t) = refl
size-cons w []        with zero? w
... | yes _ = refl
... | no nz with zero? w
... | yes z = ⊥-elim (nz z)
... | no _  = refl

size-split : ∀ m → size m ≡ weigh (head m) + size (tail m)
size-split []                with zero? 0#
... | yes _ = refl
... | no nz = ⊥-elim (nz refl)
size-split (trail (end w _)) = sym (NatP.+-identityʳ (weigh w))
size-split (trail (w ∷ t))   = refl

weigh-zero : weigh 0# ≡ 0
weigh-zero with zero? 0#
... | yes _ = refl
... | no nz = ⊥-elim (nz refl)

weigh-nonzero : ∀ {w} → w ≢ 0# → weigh w ≡ 1
weigh-nonzero {w} nz with zero? w
... | yes z = ⊥-elim (nz z)
... | no _  = refl

size-drop : ∀ m k → m ! k ≢ 0# → size (drop m k) < size m
size-drop m zero nz = subst (_< size m) (sym (trans (size-cons 0# (tail m)) (cong (_+ size (tail m)) weigh-zero)))
  (subst (size (tail m) <_) (sym (trans (size-split m) (cong (_+ size (tail m)) (weigh-nonzero nz)))) NatP.≤-refl)
size-drop m (suc k) nz = subst (_< size m) (sym (size-cons (head m) (set (tail m) k 0#)))
  (subst (weigh (head m) + size (set (tail m) k 0#) <_) (sym (size-split m))
    (NatP.+-monoʳ-< (weigh (head m)) (size-drop (tail m) k (λ z → nz (trans (sym (tail-! m k)) z)))))

-- The elements with a weight that is not zero.
upto : ∀ m → ℕ → List (∃ λ k → m ! k ≢ 0#)
upto m zero    = []
upto m (suc l) with zero? (m ! l)
... | yes _ = upto m l
... | no nz = (l , nz) ∷ upto m l

units : ∀ m → List (∃ λ k → m ! k ≢ 0#)
units m = upto m (length m)

upto-complete : ∀ m l {k} → k < l → m ! k ≢ 0# → Any (λ u → proj₁ u ≡ k) (upto m l)
upto-complete m (suc l) {k} (s≤s le) nz with zero? (m ! l) | k Nat.≟ l
... | yes z | yes refl = ⊥-elim (nz z)
... | no _  | yes refl = here refl
... | yes _ | no ne    = upto-complete m l (NatP.≤∧≢⇒< le ne) nz
... | no _  | no ne    = there (upto-complete m l (NatP.≤∧≢⇒< le ne) nz)

units-complete : ∀ m {k} → m ! k ≢ 0# → Any (λ u → proj₁ u ≡ k) (units m)
units-complete m {k} nz = upto-complete m (length m) within nz
  where
  within : k < length m
  within with suc k Nat.≤? length m
  ... | yes le = le
  ... | no out = ⊥-elim (nz (beyond m k (NatP.≤-pred (NatP.≰⇒> out))))

empty? : ∀ (m : Map) → Dec (m ≡ [])
empty? []        = yes refl
empty? (trail _) = no λ ()

drop-absent : ∀ m k → m ! k ≡ 0# → drop m k ≡ m
drop-absent m k z = ext (drop m k) m λ j → pointwise j
  where
  pointwise : ∀ j → drop m k ! j ≡ m ! j
  pointwise j with j Nat.≟ k
  ... | yes refl = trans (set-same m k 0#) (sym z)
  ... | no ne    = set-other m k j 0# ne
