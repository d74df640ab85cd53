{-# OPTIONS --safe #-}

-- Type preservation (Lemma 4.1). The graphs of Flo.Graph have their collection types built in. Here are graphs without
-- any: buffers hold values of any type, and nothing keeps a graph from being fed another's. Then types are a judgement
-- (figure 5), and steps preserve it.

open import Flo.Collection

module Flo.Preservation {Name : Set} (collection : Name → Collection) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_; length; replicate)
open import Data.List.Properties using (length-++)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; zero; suc; _+_)
open import Data.Product using (∃; _×_; _,_)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans; cong; cong₂; subst)

open import Flo.Value collection
open import Flo.Progress collection
open import Flo.Graph collection

-- c ∈ C: a value of any type; and a delta.
Any Delta : Set
Any   = ∃ Val
Delta = Maybe Any

-- {S}[op], e ; e and e | e, with any values in the buffers.
data Raw : Set₁ where
  node : ∀ {I O} (o : Operator I O) → Contract o → Operator.Expr o → List Any → Raw
  _⨟_  : Raw → Raw → Raw
  _∥_  : Raw → Raw → Raw

takes gives : Raw → ℕ
takes (node {I} _ _ _ _) = length I
takes (g ⨟ h)            = takes g
takes (g ∥ h)            = takes g + takes h
gives (node {O = O} _ _ _ _) = length O
gives (g ⨟ h)                = gives h
gives (g ∥ h)                = gives g + gives h

-- c ++ d. Of values of two types, the result may be anything (docs/deviations.md, 19).
data _++_↦_ : Any → Delta → Any → Set where
  nothing-new : ∀ {c} → c ++ nothing ↦ c
  one-type    : ∀ {t} {c d : Val t} → (t , c) ++ just (t , d) ↦ (t , c ⊹ d)
  two-types   : ∀ {s t} {c : Val s} {d : Val t} {e} → s ≢ t → (s , c) ++ just (t , d) ↦ e

data Concat : List Any → List Delta → List Any → Set where
  []  : Concat [] [] []
  _∷_ : ∀ {c d e cs ds es} → c ++ d ↦ e → Concat cs ds es → Concat (c ∷ cs) (d ∷ ds) (e ∷ es)

-- setinput(e, inputs(e) ++ Δ).
data Push : Raw → List Delta → Raw → Set₁ where
  to-node  : ∀ {I O} {o : Operator I O} {c e vs ds ws} → Concat vs ds ws → Push (node o c e vs) ds (node o c e ws)
  to-left  : ∀ {g g′ h ds} → Push g ds g′ → Push (g ⨟ h) ds (g′ ⨟ h)
  to-sides : ∀ {g g′ h h′ ds es fs} → fs ≡ ds ++ es → length ds ≡ takes g → Push g ds g′ → Push h es h′ → Push (g ∥ h) fs (g′ ∥ h′)

erase : ∀ {ts} → Vals ts → List Any
erase []       = []
erase (c ∷ cs) = (_ , c) ∷ erase cs

eraseᵈ : ∀ {ts} → Deltas ts → List Delta
eraseᵈ []             = []
eraseᵈ (nothing ∷ ds) = nothing ∷ eraseᵈ ds
eraseᵈ (just d ∷ ds)  = just (_ , d) ∷ eraseᵈ ds

nones : ℕ → List Delta
nones n = replicate n nothing

-- →Δ (figure 6).
data _⟶_,_ : Raw → Raw → List Delta → Set₁ where
  sequence-left  : ∀ {g g′ h h′ m} → g ⟶ g′ , m → Push h m h′ → (g ⨟ h) ⟶ (g′ ⨟ h′) , nones (gives h)
  sequence-right : ∀ {g h h′ o} → h ⟶ h′ , o → (g ⨟ h) ⟶ (g ⨟ h′) , o
  par-left       : ∀ {g g′ h o} → g ⟶ g′ , o → (g ∥ h) ⟶ (g′ ∥ h) , (o ++ nones (gives h))
  par-right      : ∀ {g h h′ o} → h ⟶ h′ , o → (g ∥ h) ⟶ (g ∥ h′) , (nones (gives g) ++ o)
  operator       : ∀ {I O} {o : Operator I O} {c e e′ vs vs′ os} {v v′ : Vals I} {d} →
    vs ≡ erase v → Operator.Fires o (e , v) (e′ , v′) d → vs′ ≡ erase v′ → os ≡ eraseᵈ d →
    node o c e vs ⟶ node o c e′ vs′ , os

-- Values and deltas of a type.
data _∈*_ : List Any → Tys → Set where
  []  : [] ∈* []
  _∷_ : ∀ {t ts vs} (c : Val t) → vs ∈* ts → ((t , c) ∷ vs) ∈* (t ∷ ts)

data _∈ᵈ_ : List Delta → Tys → Set where
  []   : [] ∈ᵈ []
  absent : ∀ {t ts ds} → ds ∈ᵈ ts → (nothing ∷ ds) ∈ᵈ (t ∷ ts)
  present : ∀ {t ts ds} (d : Val t) → ds ∈ᵈ ts → (just (t , d) ∷ ds) ∈ᵈ (t ∷ ts)

-- ⊢ e : I ↪ O (figure 5), with the types of buffers.
data ⊢_∶_▸_↪_▸_ : Raw → (I : Tys) → Flags I → (O : Tys) → Flags O → Set₁ where
  operator : ∀ {I O} {o : Operator I O} {c e vs i f} → Contract._⊢ᴼ_ c i f → vs ∈* I → ⊢ node o c e vs ∶ I ▸ i ↪ O ▸ f
  sequence : ∀ {g h I M O i m m′ o} → ⊢ g ∶ I ▸ i ↪ M ▸ m → ⊢ h ∶ M ▸ m′ ↪ O ▸ o → m ≤* m′ → ⊢ (g ⨟ h) ∶ I ▸ i ↪ O ▸ o
  par      : ∀ {g h I O I′ O′ i o i′ o′} → ⊢ g ∶ I ▸ i ↪ O ▸ o → ⊢ h ∶ I′ ▸ i′ ↪ O′ ▸ o′ →
    ⊢ (g ∥ h) ∶ (I ++ I′) ▸ (i ·ᶠ i′) ↪ (O ++ O′) ▸ (o ·ᶠ o′)

erase-∈ : ∀ {ts} (v : Vals ts) → erase v ∈* ts
erase-∈ []       = []
erase-∈ (c ∷ cs) = c ∷ erase-∈ cs

eraseᵈ-∈ : ∀ {ts} (d : Deltas ts) → eraseᵈ d ∈ᵈ ts
eraseᵈ-∈ []             = []
eraseᵈ-∈ (nothing ∷ ds) = absent (eraseᵈ-∈ ds)
eraseᵈ-∈ (just d ∷ ds)  = present d (eraseᵈ-∈ ds)

nones-∈ : ∀ ts → nones (length ts) ∈ᵈ ts
nones-∈ []       = []
nones-∈ (t ∷ ts) = absent (nones-∈ ts)

++-∈ : ∀ {ds es ts us} → ds ∈ᵈ ts → es ∈ᵈ us → (ds ++ es) ∈ᵈ (ts ++ us)
++-∈ []         q = q
++-∈ (absent p)   q = absent (++-∈ p q)
++-∈ (present d p) q = present d (++-∈ p q)

split-∈ : ∀ {ds es} ts {us} → length ds ≡ length ts → (ds ++ es) ∈ᵈ (ts ++ us) → (ds ∈ᵈ ts) × (es ∈ᵈ us)
split-∈ {[]}          []       e p          = [] , p
split-∈ {_ ∷ ds}      (t ∷ ts) e (absent p)   = let q , r = split-∈ ts (cong pred e) p in absent q , r
  where pred : ℕ → ℕ
        pred zero    = zero
        pred (suc n) = n
split-∈ {_ ∷ ds}      (t ∷ ts) e (present d p) = let q , r = split-∈ ts (cong pred e) p in present d q , r
  where pred : ℕ → ℕ
        pred zero    = zero
        pred (suc n) = n

takes-∈ : ∀ {g I O i o} → ⊢ g ∶ I ▸ i ↪ O ▸ o → takes g ≡ length I
takes-∈ (operator _ _)                  = refl
takes-∈ (sequence p _ _)                = takes-∈ p
takes-∈ (par {I = I} {I′ = I′} p q)     = trans (cong₂ _+_ (takes-∈ p) (takes-∈ q)) (sym (length-++ I))

gives-∈ : ∀ {g I O i o} → ⊢ g ∶ I ▸ i ↪ O ▸ o → gives g ≡ length O
gives-∈ (operator _ _)                  = refl
gives-∈ (sequence _ q _)                = gives-∈ q
gives-∈ (par {O = O} {O′ = O′} p q)     = trans (cong₂ _+_ (gives-∈ p) (gives-∈ q)) (sym (length-++ O))

-- Types are closed under ++, for deltas of the same type (the third condition on L^C).
concat-∈ : ∀ {vs ds ws ts} → vs ∈* ts → ds ∈ᵈ ts → Concat vs ds ws → ws ∈* ts
concat-∈ []       []         []                     = []
concat-∈ (c ∷ cs) (absent ds)  (nothing-new ∷ ws)     = c ∷ concat-∈ cs ds ws
concat-∈ (c ∷ cs) (present d ds) (one-type ∷ ws)       = (c ⊹ d) ∷ concat-∈ cs ds ws
concat-∈ (c ∷ cs) (present d ds) (two-types n ∷ ws)    = ⊥-elim (n refl)

push-preserves : ∀ {g g′ ds I O i o} → ⊢ g ∶ I ▸ i ↪ O ▸ o → ds ∈ᵈ I → Push g ds g′ → ⊢ g′ ∶ I ▸ i ↪ O ▸ o
push-preserves (operator t vs) ds (to-node c)   = operator t (concat-∈ vs ds c)
push-preserves (sequence p q le) ds (to-left x) = sequence (push-preserves p ds x) q le
push-preserves (par {I = I} p q) ds (to-sides refl l x y) =
  let ds₁ , ds₂ = split-∈ I (trans l (takes-∈ p)) ds in par (push-preserves p ds₁ x) (push-preserves q ds₂ y)

-- Graph Preservation: the graph keeps its type, and what it emits has the type of its outputs.
preservation : ∀ {g g′ os I O i o} → ⊢ g ∶ I ▸ i ↪ O ▸ o → g ⟶ g′ , os → (⊢ g′ ∶ I ▸ i ↪ O ▸ o) × (os ∈ᵈ O)
preservation (operator t _) (operator {v′ = v′} {d} _ _ refl refl) = operator t (erase-∈ v′) , eraseᵈ-∈ d
preservation (sequence {O = O} p q le) (sequence-left x y) =
  let p′ , m = preservation p x in
  sequence p′ (push-preserves q m y) le , subst (λ n → nones n ∈ᵈ O) (sym (gives-∈ q)) (nones-∈ O)
preservation (sequence p q le) (sequence-right y) = let q′ , o = preservation q y in sequence p q′ le , o
preservation (par {O′ = O′} p q) (par-left x) =
  let p′ , o = preservation p x in par p′ q , ++-∈ o (subst (λ n → nones n ∈ᵈ O′) (sym (gives-∈ q)) (nones-∈ O′))
preservation (par {O = O} p q) (par-right y) =
  let q′ , o = preservation q y in par p q′ , ++-∈ (subst (λ n → nones n ∈ᵈ O) (sym (gives-∈ p)) (nones-∈ O)) o
