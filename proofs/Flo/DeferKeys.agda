{-# OPTIONS --safe #-}

-- What the contexts R and W of a body say about its operators: every key that is read is written, once, with the same
-- type (flo.core.nest.check_defers and flo.core.typing.merge_writes).

open import Flo.Collection

module Flo.DeferKeys {Name : Set} (collection : Name → Collection) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Sum using (_⊎_; inj₁; inj₂)
open import Data.Unit using (tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)
open import Relation.Nullary using (¬_)

open import Flo.Value collection
open import Flo.Defer collection

-- The places of the operators on a key in a body.
data Writes (k : Key) (t : Ty) : ∀ {I O} → Body I O → Set₁ where
  it      : Writes k t (write-defer {t} k)
  first   : ∀ {I M O} {b : Body I M} {c : Body M O} → Writes k t b → Writes k t (b ⨟ c)
  second  : ∀ {I M O} {b : Body I M} {c : Body M O} → Writes k t c → Writes k t (b ⨟ c)
  onleft  : ∀ {I O I′ O′} {b : Body I O} {c : Body I′ O′} → Writes k t b → Writes k t (b ∥ c)
  onright : ∀ {I O I′ O′} {b : Body I O} {c : Body I′ O′} → Writes k t c → Writes k t (b ∥ c)

data Reads (k : Key) (t : Ty) : ∀ {I O} → Body I O → Set₁ where
  it      : ∀ {v} → Reads k t (read-defer {t} k v)
  first   : ∀ {I M O} {b : Body I M} {c : Body M O} → Reads k t b → Reads k t (b ⨟ c)
  second  : ∀ {I M O} {b : Body I M} {c : Body M O} → Reads k t c → Reads k t (b ⨟ c)
  onleft  : ∀ {I O I′ O′} {b : Body I O} {c : Body I′ O′} → Reads k t b → Reads k t (b ∥ c)
  onright : ∀ {I O I′ O′} {b : Body I O} {c : Body I′ O′} → Reads k t c → Reads k t (b ∥ c)

∈-left : ∀ {A : Set} {x : A} {xs ys} → x ∈ xs → x ∈ (xs ++ ys)
∈-left here      = here
∈-left (there i) = there (∈-left i)

∈-right : ∀ {A : Set} {x : A} xs {ys} → x ∈ ys → x ∈ (xs ++ ys)
∈-right []       i = i
∈-right (_ ∷ xs) i = there (∈-right xs i)

∈-split : ∀ {A : Set} {x : A} xs {ys} → x ∈ (xs ++ ys) → (x ∈ xs) ⊎ (x ∈ ys)
∈-split []       i         = inj₂ i
∈-split (_ ∷ xs) here      = inj₁ here
∈-split (_ ∷ xs) (there i) with ∈-split xs i
... | inj₁ j = inj₁ (there j)
... | inj₂ j = inj₂ j

-- Whatever is in W is written.
written : ∀ {R W I O} {b : Body I O} {i o k t f} → R ⨾ W ⊢ b ∶ i ↪ o → (k , t , f) ∈ W → Writes k t b
written (sequence {W₁} p q _) m with ∈-split W₁ m
... | inj₁ l = first (written p l)
... | inj₂ r = second (written q r)
written (par {W₁} p q) m with ∈-split W₁ m
... | inj₁ l = onleft (written p l)
... | inj₂ r = onright (written q r)
written (write-defer-type _) here = it

-- And what is written is in W.
in-W : ∀ {R W I O} {b : Body I O} {i o k t} → R ⨾ W ⊢ b ∶ i ↪ o → Writes k t b → ∃ λ f → (k , t , f) ∈ W
in-W (sequence p q _) (first x)       = let f , i = in-W p x in f , ∈-left i
in-W (sequence {W₁} p q _) (second y) = let f , i = in-W q y in f , ∈-right W₁ i
in-W (par p q) (onleft x)             = let f , i = in-W p x in f , ∈-left i
in-W (par {W₁} p q) (onright y)       = let f , i = in-W q y in f , ∈-right W₁ i
in-W (write-defer-type _) it          = _ , here

in-R : ∀ {R W I O} {b : Body I O} {i o k t} → R ⨾ W ⊢ b ∶ i ↪ o → Reads k t b → ∃ λ f → (k , t , f) ∈ R
in-R (sequence p q _) (first x)  = in-R p x
in-R (sequence p q _) (second y) = in-R q y
in-R (par p q) (onleft x)        = in-R p x
in-R (par p q) (onright y)       = in-R q y
in-R (read-defer-value-type i _ _ _) it = _ , i

-- Every key that is read is written, and with the same type.
check-defers : ∀ {D I O} {b : Body I O} {i o k t} → D ⨾ D ⊢ b ∶ i ↪ o → Reads k t b → Writes k t b
check-defers d r = written d (proj₂ (in-R d r))

parts : ∀ W₁ {W₂} → Distinct (W₁ ++ W₂) →
  Distinct W₁ × Distinct W₂ × (∀ {k x y} → (k , x) ∈ W₁ → ¬ ((k , y) ∈ W₂))
parts []       distinct          = tt , distinct , λ ()
parts (_ ∷ W₁) (none , distinct) =
  let d₁ , d₂ , apart = parts W₁ distinct in
  ((λ i → none (∈-left i)) , d₁) , d₂ , λ { here j → none (∈-right W₁ j) ; (there i) j → apart i j }

-- There is one place where a key is written.
written-once : ∀ {R W I O} {b : Body I O} {i o k} → R ⨾ W ⊢ b ∶ i ↪ o → Distinct W → (x y : ∃ λ t → Writes k t b) → x ≡ y
written-once (sequence {W₁} p q _) ok (_ , first x) (_ , first y) with written-once p (proj₁ (parts W₁ ok)) (_ , x) (_ , y)
... | refl = refl
written-once (sequence {W₁} p q _) ok (_ , second x) (_ , second y) with written-once q (proj₁ (proj₂ (parts W₁ ok))) (_ , x) (_ , y)
... | refl = refl
written-once (sequence {W₁} p q _) ok (_ , first x) (_ , second y) = ⊥-elim (proj₂ (proj₂ (parts W₁ ok)) (proj₂ (in-W p x)) (proj₂ (in-W q y)))
written-once (sequence {W₁} p q _) ok (_ , second x) (_ , first y) = ⊥-elim (proj₂ (proj₂ (parts W₁ ok)) (proj₂ (in-W p y)) (proj₂ (in-W q x)))
written-once (par {W₁} p q) ok (_ , onleft x) (_ , onleft y) with written-once p (proj₁ (parts W₁ ok)) (_ , x) (_ , y)
... | refl = refl
written-once (par {W₁} p q) ok (_ , onright x) (_ , onright y) with written-once q (proj₁ (proj₂ (parts W₁ ok))) (_ , x) (_ , y)
... | refl = refl
written-once (par {W₁} p q) ok (_ , onleft x) (_ , onright y) = ⊥-elim (proj₂ (proj₂ (parts W₁ ok)) (proj₂ (in-W p x)) (proj₂ (in-W q y)))
written-once (par {W₁} p q) ok (_ , onright x) (_ , onleft y) = ⊥-elim (proj₂ (proj₂ (parts W₁ ok)) (proj₂ (in-W p y)) (proj₂ (in-W q x)))
written-once (write-defer-type _) _ (_ , it) (_ , it) = refl
