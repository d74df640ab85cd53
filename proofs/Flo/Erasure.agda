{-# OPTIONS --safe #-}

-- The graphs of Flo.Graph and those of Flo.Preservation, which have no types built in, take the same steps.

open import Flo.Collection

module Flo.Erasure {Name : Set} (collection : Name → Collection) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_; length)
open import Data.List.Properties using (length-++)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (_+_)
open import Data.Product using (∃; _×_; _,_)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst)

open import Flo.Value collection
open import Flo.Machine collection
import Flo.Composition collection as Composition
open import Flo.Progress collection
open import Flo.Graph collection
open import Flo.Preservation collection as P using
  (Raw; node; erase; eraseᵈ; Push; to-node; to-left; to-sides; Concat; []; _∷_; nothing-new; one-type; two-types; nones; takes; gives;
   _⟶_,_; sequence-left; sequence-right; par-left; par-right; operator; erase-∈)

-- A graph and its state, without types.
raw : ∀ {I O} (g : Graph I O) → Machine.State ⟦ g ⟧ → Raw
raw (g ⨟ h)  (s , t) = raw g s P.⨟ raw h t
raw (g ∥ h)  (s , t) = raw g s P.∥ raw h t
raw (op o c) (e , v) = node o c e (erase v)

takes-raw : ∀ {I O} (g : Graph I O) s → takes (raw g s) ≡ length I
takes-raw (g ⨟ h) (s , t)                 = takes-raw g s
takes-raw (_∥_ {I} {I′ = I′} g h) (s , t) = trans (cong₂ _+_ (takes-raw g s) (takes-raw h t)) (sym (length-++ I))
takes-raw (op o c) _                      = refl

gives-raw : ∀ {I O} (g : Graph I O) s → gives (raw g s) ≡ length O
gives-raw (g ⨟ h) (s , t)                     = gives-raw h t
gives-raw (_∥_ {O = O} {O′ = O′} g h) (s , t) = trans (cong₂ _+_ (gives-raw g s) (gives-raw h t)) (sym (length-++ O))
gives-raw (op o c) _                          = refl

-- A well-typed graph, without types, has the type that it has with them.
typed : ∀ {I O} {g : Graph I O} {i o} → ⊢ g ∶ i ↪ o → ∀ s → P.⊢ raw g s ∶ I ▸ i ↪ O ▸ o
typed (sequence p q le) (s , t) = P.sequence (typed p s) (typed q t) le
typed (par p q)         (s , t) = P.par (typed p s) (typed q t)
typed (operator {p = p} {c} x) (e , v) = P.operator x (erase-∈ v)

length-eraseᵈ : ∀ {ts} (d : Deltas ts) → length (eraseᵈ d) ≡ length ts
length-eraseᵈ []             = refl
length-eraseᵈ (nothing ∷ ds) = cong (λ n → Data.Nat.suc n) (length-eraseᵈ ds)
length-eraseᵈ (just _ ∷ ds)  = cong (λ n → Data.Nat.suc n) (length-eraseᵈ ds)

eraseᵈ-none : ∀ ts → eraseᵈ (none {ts}) ≡ nones (length ts)
eraseᵈ-none []       = refl
eraseᵈ-none (t ∷ ts) = cong (nothing ∷_) (eraseᵈ-none ts)

eraseᵈ-· : ∀ {as bs} (d : Deltas as) (e : Deltas bs) → eraseᵈ (d ·ᵈ e) ≡ eraseᵈ d ++ eraseᵈ e
eraseᵈ-· []             e = refl
eraseᵈ-· (nothing ∷ ds) e = cong (nothing ∷_) (eraseᵈ-· ds e)
eraseᵈ-· (just d ∷ ds)  e = cong (just (_ , d) ∷_) (eraseᵈ-· ds e)

eraseᵈ-parts : ∀ as {bs} (d : Deltas (as ++ bs)) → eraseᵈ d ≡ eraseᵈ (leftᵈ {as} d) ++ eraseᵈ (rightᵈ {as} d)
eraseᵈ-parts []       d              = refl
eraseᵈ-parts (a ∷ as) (nothing ∷ ds) = cong (nothing ∷_) (eraseᵈ-parts as ds)
eraseᵈ-parts (a ∷ as) (just d ∷ ds)  = cong (just (_ , d) ∷_) (eraseᵈ-parts as ds)

-- Arrivals.
erase-concat : ∀ {ts} (v : Vals ts) d → Concat (erase v) (eraseᵈ d) (erase (v ⊕ d))
erase-concat []       []             = []
erase-concat (c ∷ cs) (nothing ∷ ds) = nothing-new ∷ erase-concat cs ds
erase-concat (c ∷ cs) (just d ∷ ds)  = one-type ∷ erase-concat cs ds

erase-push : ∀ {I O} (g : Graph I O) s d → Push (raw g s) (eraseᵈ d) (raw g (Machine.push ⟦ g ⟧ s d))
erase-push (g ⨟ h) (s , t) d = to-left (erase-push g s d)
erase-push (_∥_ {I} g h) (s , t) d =
  subst (λ z → Push (raw g s P.∥ raw h t) (eraseᵈ d) (raw (g ∥ h) z)) (sym (Composition.Parallel.push-parts ⟦ g ⟧ ⟦ h ⟧ s t d))
    (to-sides (eraseᵈ-parts I d) (trans (length-eraseᵈ (leftᵈ {I} d)) (sym (takes-raw g s)))
      (erase-push g s (leftᵈ {I} d)) (erase-push h t (rightᵈ {I} d)))
erase-push (op o c) (e , v) d = to-node (erase-concat v d)

-- Every step with types is one without.
erase-step : ∀ {I O} (g : Graph I O) {s s′ o} → Machine.Step ⟦ g ⟧ s s′ o → raw g s ⟶ raw g s′ , eraseᵈ o
erase-step (_⨟_ {O = O} g h) {s , t} {s′ , t′} (Composition.Sequence.sequence-left {m = m} x) =
  subst (λ os → (raw g s P.⨟ raw h t) ⟶ (raw g s′ P.⨟ raw h t′) , os) (trans (cong nones (gives-raw h t)) (sym (eraseᵈ-none O)))
    (sequence-left (erase-step g x) (erase-push h t m))
erase-step (g ⨟ h) (Composition.Sequence.sequence-right y) = sequence-right (erase-step h y)
erase-step (_∥_ {O′ = O′} g h) {s , t} {s′ , t′} (Composition.Parallel.par-left {o = o} x) =
  subst (λ os → (raw g s P.∥ raw h t) ⟶ (raw g s′ P.∥ raw h t′) , os) (trans (cong (eraseᵈ o ++_) (trans (cong nones (gives-raw h t)) (sym (eraseᵈ-none O′)))) (sym (eraseᵈ-· o none)))
    (par-left (erase-step g x))
erase-step (_∥_ {O = O} g h) {s , t} {s′ , t′} (Composition.Parallel.par-right {o = o} y) =
  subst (λ os → (raw g s P.∥ raw h t) ⟶ (raw g s′ P.∥ raw h t′) , os) (trans (cong (_++ eraseᵈ o) (trans (cong nones (gives-raw g s)) (sym (eraseᵈ-none O)))) (sym (eraseᵈ-· (none {O}) o)))
    (par-right (erase-step h y))
erase-step (op o c) x = operator refl x refl refl

-- And every step without types from a graph that has them is one with them.
erase-injective : ∀ {ts} (v w : Vals ts) → erase v ≡ erase w → v ≡ w
erase-injective []       []       p = refl
erase-injective (c ∷ cs) (d ∷ ds) p with erase-injective cs ds (cong tail′ p) | cong head′ p
  where
  tail′ : List P.Any → List P.Any
  tail′ []       = []
  tail′ (_ ∷ xs) = xs
  head′ : List P.Any → Maybe P.Any
  head′ []      = nothing
  head′ (x ∷ _) = just x
... | refl | refl = refl

concat-erases : ∀ {ts} (v : Vals ts) d {ws} → Concat (erase v) (eraseᵈ d) ws → ws ≡ erase (v ⊕ d)
concat-erases []       []             []                  = refl
concat-erases (c ∷ cs) (nothing ∷ ds) (nothing-new ∷ r)   = cong (_ ∷_) (concat-erases cs ds r)
concat-erases (c ∷ cs) (just d ∷ ds)  (one-type ∷ r)      = cong (_ ∷_) (concat-erases cs ds r)
concat-erases (c ∷ cs) (just d ∷ ds)  (two-types n ∷ r)   = ⊥-elim (n refl)

split-same : ∀ {A : Set} (as as′ : List A) {bs bs′} → length as ≡ length as′ → as ++ bs ≡ as′ ++ bs′ → (as ≡ as′) × (bs ≡ bs′)
split-same []       []         l p = refl , p
split-same (a ∷ as) (a′ ∷ as′) l p = cons (cong head p) (split-same as as′ (cong Data.Nat.pred l) (cong tail p))
  where
  head : _ → Maybe _
  head []      = nothing
  head (x ∷ _) = just x
  tail : List _ → List _
  tail []       = []
  tail (_ ∷ xs) = xs
  cons : ∀ {bs bs′} → just a ≡ just a′ → (as ≡ as′) × (bs ≡ bs′) → (a ∷ as ≡ a′ ∷ as′) × (bs ≡ bs′)
  cons refl (refl , q) = refl , q

push-erases : ∀ {I O} (g : Graph I O) s d {h} → Push (raw g s) (eraseᵈ d) h → h ≡ raw g (Machine.push ⟦ g ⟧ s d)
push-erases (g ⨟ h) (s , t) d (to-left x) = cong (P._⨟ raw h t) (push-erases g s d x)
push-erases (_∥_ {I} g h) (s , t) d (to-sides {ds = ds} eq l x y)
  with split-same ds (eraseᵈ (leftᵈ {I} d)) (trans l (trans (takes-raw g s) (sym (length-eraseᵈ (leftᵈ {I} d))))) (trans (sym eq) (eraseᵈ-parts I d))
... | refl , refl = trans (cong₂ P._∥_ (push-erases g s _ x) (push-erases h t _ y))
  (cong (raw (g ∥ h)) (sym (Composition.Parallel.push-parts ⟦ g ⟧ ⟦ h ⟧ s t d)))
push-erases (op o c) (e , v) d (to-node r) = cong (node o c e) (concat-erases v d r)

step-erases : ∀ {I O} (g : Graph I O) s {h os} → raw g s ⟶ h , os →
  ∃ λ s′ → ∃ λ o → Machine.Step ⟦ g ⟧ s s′ o × (h ≡ raw g s′) × (os ≡ eraseᵈ o)
step-erases (_⨟_ {O = O} g h) (s , t) (sequence-left x y) with step-erases g s x
... | s′ , m , z , refl , refl = _ , _ , Composition.Sequence.sequence-left z ,
  cong (raw g s′ P.⨟_) (push-erases h t m y) , trans (cong nones (gives-raw h t)) (sym (eraseᵈ-none O))
step-erases (g ⨟ h) (s , t) (sequence-right y) with step-erases h t y
... | t′ , o , z , refl , refl = _ , _ , Composition.Sequence.sequence-right z , refl , refl
step-erases (_∥_ {O′ = O′} g h) (s , t) (par-left x) with step-erases g s x
... | s′ , o , z , refl , refl = _ , _ , Composition.Parallel.par-left z , refl ,
  trans (cong (eraseᵈ o ++_) (trans (cong nones (gives-raw h t)) (sym (eraseᵈ-none O′)))) (sym (eraseᵈ-· o none))
step-erases (_∥_ {O = O} g h) (s , t) (par-right y) with step-erases h t y
... | t′ , o , z , refl , refl = _ , _ , Composition.Parallel.par-right z , refl ,
  trans (cong (_++ eraseᵈ o) (trans (cong nones (gives-raw g s)) (sym (eraseᵈ-none O)))) (sym (eraseᵈ-· (none {O}) o))
step-erases (op p c) (e , v) (operator {v = w} eq x refl refl) with erase-injective v w eq
... | refl = _ , _ , x , refl , refl
