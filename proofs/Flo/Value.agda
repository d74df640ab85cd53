{-# OPTIONS --safe #-}

-- Collection types, closed under nested streams (§5.1); tuples of values; deltas.
-- The development is parameterised over any family of collections, as the paper's languages are.

open import Flo.Collection

module Flo.Value {Name : Set} (collection : Name → Collection) where

open import Data.Bool using (true; false)
open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_)
import Data.List as L
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Product using (_×_; _,_)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans; cong; cong₂)
open import Relation.Nullary using (¬_; Dec; yes; no)

open Collection

-- τ ∈ T^C.
data Ty : Set where
  base   : Name → Ty
  nested : List Ty → Ty

Tys : Set
Tys = List Ty

mutual
  -- c ∈ C of a type. A nested value has what it adds to the newest tuple before it (the paper's flag false; ∅ if it
  -- adds nothing), and the tuples that follow (the flag true), oldest first.
  data Val : Ty → Set where
    val    : ∀ {n} → Value (collection n) → Val (base n)
    nested : ∀ {ts} → Vals ts → List (Vals ts) → End → Val (nested ts)

  data Vals : Tys → Set where
    []  : Vals []
    _∷_ : ∀ {t ts} → Val t → Vals ts → Vals (t ∷ ts)

mutual
  ∅ᵛ : ∀ {t} → Val t
  ∅ᵛ {base n}    = val (∅ (collection n))
  ∅ᵛ {nested ts} = nested ∅s [] open′

  ∅s : ∀ {ts} → Vals ts
  ∅s {[]}     = []
  ∅s {t ∷ ts} = ∅ᵛ ∷ ∅s

infixl 5 _⊹_ _⊹s_ _⊕_ _⊕*_

mutual
  -- c ++ d.
  _⊹_ : ∀ {t} → Val t → Val t → Val t
  _⊹_ {base n}    (val c)                (val d)           = val (_++_ (collection n) c d)
  nested x xs arrived ⊹ _                = nested x xs arrived
  nested x xs passed  ⊹ _                = nested x xs passed
  nested x []       open′ ⊹ nested y ys e = nested (x ⊹s y) ys (reach e)
  nested x (v ∷ vs) open′ ⊹ nested y ys e = nested x (glue v vs y ys) (reach e)

  -- Extend the newest tuple, then add tuples.
  glue : ∀ {ts} → Vals ts → List (Vals ts) → Vals ts → List (Vals ts) → List (Vals ts)
  glue v []       y ys = (v ⊹s y) ∷ ys
  glue v (w ∷ ws) y ys = v ∷ glue w ws y ys

  _⊹s_ : ∀ {ts} → Vals ts → Vals ts → Vals ts
  []       ⊹s []       = []
  (c ∷ cs) ⊹s (d ∷ ds) = (c ⊹ d) ∷ (cs ⊹s ds)

mutual
  -- fix ends every inner stream, too (docs/deviations.md, 13): every one that is in the value. What it adds to a tuple
  -- before it stays.
  fixᵛ : ∀ {t} → Val t → Val t
  fixᵛ {base n} (val c)        = val (fix (collection n) c)
  fixᵛ (nested x xs e)         = nested x (fix-each xs) (close e)

  fix-each : ∀ {ts} → List (Vals ts) → List (Vals ts)
  fix-each []       = []
  fix-each (x ∷ xs) = fixes x ∷ fix-each xs

  fixes : ∀ {ts} → Vals ts → Vals ts
  fixes []       = []
  fixes (c ∷ cs) = fixᵛ c ∷ fixes cs

Fixedᵛ : ∀ {t} → Val t → Set
Fixedᵛ {base n} (val c)      = Fixed (collection n) c
Fixedᵛ (nested _ _ e)        = Ended e

fixedᵛ? : ∀ {t} (c : Val t) → Dec (Fixedᵛ c)
fixedᵛ? {base n} (val c)     = fixed? (collection n) c
fixedᵛ? (nested _ _ e)       = ended? e

restᵛ : ∀ {t} → Val t → Val t
restᵛ {base n} (val c) = val (rest (collection n) c)
restᵛ (nested _ _ e)   = nested ∅s [] (pass e)

mutual
  -- Nothing is left to take.
  Idleᵛ : ∀ {t} → Val t → Set
  Idleᵛ {base n} (val c) = Idle (collection n) c
  Idleᵛ (nested x xs e)  = Bare x × (xs ≡ []) × (e ≢ arrived)

  -- All streams of a tuple are empty and open.
  Bare : ∀ {ts} → Vals ts → Set
  Bare []       = ⊤
  Bare (c ∷ cs) = (Idleᵛ c × ¬ Fixedᵛ c) × Bare cs

mutual
  Freshᵛ : ∀ {t} → Val t → Set
  Freshᵛ {base n} (val c) = Fresh (collection n) c
  Freshᵛ (nested x _ e)   = Freshes x × Unpassed e

  Freshes : ∀ {ts} → Vals ts → Set
  Freshes []       = ⊤
  Freshes (c ∷ cs) = Freshᵛ c × Freshes cs

-- A delta of a stream; None is the empty one (flo.core.operator.Delta).
data Deltas : Tys → Set where
  []  : Deltas []
  _∷_ : ∀ {t ts} → Maybe (Val t) → Deltas ts → Deltas (t ∷ ts)

none : ∀ {ts} → Deltas ts
none {[]}     = []
none {t ∷ ts} = nothing ∷ none

add : ∀ {t} → Val t → Maybe (Val t) → Val t
add c nothing  = c
add c (just d) = c ⊹ d

-- flo.core.operator.concat_all.
_⊕_ : ∀ {ts} → Vals ts → Deltas ts → Vals ts
[]       ⊕ []       = []
(c ∷ cs) ⊕ (d ∷ ds) = add c d ∷ (cs ⊕ ds)

_⊕*_ : ∀ {ts} → Vals ts → List (Deltas ts) → Vals ts
v ⊕* []       = v
v ⊕* (d ∷ ds) = (v ⊕ d) ⊕* ds

------------------------------------------------------------------------
-- The laws hold for every type, if they hold for the given collections.

mutual
  ⊹-identityʳ : ∀ {t} (c : Val t) → c ⊹ ∅ᵛ ≡ c
  ⊹-identityʳ {base n} (val c)          = cong val (identityʳ (collection n) c)
  ⊹-identityʳ (nested x xs arrived)     = refl
  ⊹-identityʳ (nested x xs passed)      = refl
  ⊹-identityʳ (nested x [] open′)       = cong (λ v → nested v [] open′) (⊹s-identityʳ x)
  ⊹-identityʳ (nested x (v ∷ vs) open′) = cong (λ ws → nested x ws open′) (glue-identity v vs)

  glue-identity : ∀ {ts} (v : Vals ts) vs → glue v vs ∅s [] ≡ v ∷ vs
  glue-identity v []       = cong (_∷ []) (⊹s-identityʳ v)
  glue-identity v (w ∷ ws) = cong (v ∷_) (glue-identity w ws)

  ⊹s-identityʳ : ∀ {ts} (c : Vals ts) → c ⊹s ∅s ≡ c
  ⊹s-identityʳ []       = refl
  ⊹s-identityʳ (c ∷ cs) = cong₂ _∷_ (⊹-identityʳ c) (⊹s-identityʳ cs)

private
  reach-reach : ∀ f → reach (reach f) ≡ reach f
  reach-reach open′   = refl
  reach-reach arrived = refl
  reach-reach passed  = refl

  extend : ∀ {ts} → List (Vals ts) → Vals ts → List (Vals ts) → List (Vals ts)
  extend []       y ys = ys
  extend (v ∷ vs) y ys = glue v vs y ys

  ⊹-extend : ∀ {ts} (x : Vals ts) v vs y ys z zs e →
    nested x (glue v vs y ys) open′ ⊹ nested z zs e ≡ nested x (extend (glue v vs y ys) z zs) (reach e)
  ⊹-extend x v []       y ys z zs e = refl
  ⊹-extend x v (w ∷ ws) y ys z zs e = refl

  extend-∷ : ∀ {ts} (v : Vals ts) w ws y ys z zs →
    extend (v ∷ glue w ws y ys) z zs ≡ v ∷ extend (glue w ws y ys) z zs
  extend-∷ v w []       y ys z zs = refl
  extend-∷ v w (_ ∷ ws) y ys z zs = refl

  glue-push : ∀ {ts} (v : Vals ts) vs y w ws z zs →
    extend (glue v vs y (w ∷ ws)) z zs ≡ glue v vs y (glue w ws z zs)
  glue-push v []       y w ws z zs = refl
  glue-push v (u ∷ us) y w ws z zs = trans (extend-∷ v u us y (w ∷ ws) z zs) (cong (v ∷_) (glue-push u us y w ws z zs))

mutual
  ⊹-assoc : ∀ {t} (c d e : Val t) → (c ⊹ d) ⊹ e ≡ c ⊹ (d ⊹ e)
  ⊹-assoc {base n} (val c) (val d) (val e) = cong val (assoc (collection n) c d e)
  ⊹-assoc (nested x xs arrived) _ _ = refl
  ⊹-assoc (nested x xs passed)  _ _ = refl
  ⊹-assoc (nested x [] open′) (nested y ys arrived) _ = refl
  ⊹-assoc (nested x [] open′) (nested y ys passed)  _ = refl
  ⊹-assoc (nested x [] open′) (nested y [] open′) (nested z zs e) =
    cong₂ (λ v f → nested v zs f) (⊹s-assoc x y z) (sym (reach-reach e))
  ⊹-assoc (nested x [] open′) (nested y (w ∷ ws) open′) (nested z zs e) = cong (nested _ _) (sym (reach-reach e))
  ⊹-assoc (nested x (v ∷ vs) open′) (nested y ys arrived) _ = refl
  ⊹-assoc (nested x (v ∷ vs) open′) (nested y ys passed)  _ = refl
  ⊹-assoc (nested x (v ∷ vs) open′) (nested y [] open′) (nested z zs e) =
    trans (⊹-extend x v vs y [] z zs e) (cong₂ (nested x) (glue-extend v vs y z zs) (sym (reach-reach e)))
  ⊹-assoc (nested x (v ∷ vs) open′) (nested y (w ∷ ws) open′) (nested z zs e) =
    trans (⊹-extend x v vs y (w ∷ ws) z zs e) (cong₂ (nested x) (glue-push v vs y w ws z zs) (sym (reach-reach e)))

  private
    glue-extend : ∀ {ts} (v : Vals ts) vs y z zs → extend (glue v vs y []) z zs ≡ glue v vs (y ⊹s z) zs
    glue-extend v []       y z zs = cong (_∷ zs) (⊹s-assoc v y z)
    glue-extend v (w ∷ ws) y z zs = trans (extend-∷ v w ws y [] z zs) (cong (v ∷_) (glue-extend w ws y z zs))

  ⊹s-assoc : ∀ {ts} (c d e : Vals ts) → (c ⊹s d) ⊹s e ≡ c ⊹s (d ⊹s e)
  ⊹s-assoc []       []       []       = refl
  ⊹s-assoc (c ∷ cs) (d ∷ ds) (e ∷ es) = cong₂ _∷_ (⊹-assoc c d e) (⊹s-assoc cs ds es)

⊹-absorbs : ∀ {t} {c : Val t} → Fixedᵛ c → ∀ d → c ⊹ d ≡ c
⊹-absorbs {base n} {val c} f (val d)           = cong val (fixed-absorbs (collection n) f d)
⊹-absorbs {nested _} {nested _ _ arrived} _ _  = refl
⊹-absorbs {nested _} {nested _ _ passed}  _ _  = refl

fixᵛ-fixes : ∀ {t} (c : Val t) → Fixedᵛ (fixᵛ c)
fixᵛ-fixes {base n} (val c)         = fix-fixes (collection n) c
fixᵛ-fixes (nested _ _ open′)       = arrived
fixᵛ-fixes (nested _ _ arrived)     = arrived
fixᵛ-fixes (nested _ _ passed)      = passed

mutual
  idleᵛ? : ∀ {t} (c : Val t) → Dec (Idleᵛ c)
  idleᵛ? {base n} (val c)         = idle? (collection n) c
  idleᵛ? (nested x (_ ∷ _) e)     = no λ { (_ , () , _) }
  idleᵛ? (nested x [] arrived)    = no λ { (_ , _ , n) → n refl }
  idleᵛ? (nested x [] open′) with bare? x
  ... | yes p = yes (p , refl , λ ())
  ... | no n  = no λ { (p , _) → n p }
  idleᵛ? (nested x [] passed) with bare? x
  ... | yes p = yes (p , refl , λ ())
  ... | no n  = no λ { (p , _) → n p }

  bare? : ∀ {ts} (x : Vals ts) → Dec (Bare x)
  bare? []       = yes tt
  bare? (c ∷ cs) with idleᵛ? c | fixedᵛ? c | bare? cs
  ... | yes i | no o  | yes b = yes ((i , o) , b)
  ... | no n  | _     | _     = no λ { ((i , _) , _) → n i }
  ... | _     | yes f | _     = no λ { ((_ , o) , _) → o f }
  ... | _     | _     | no n  = no λ { (_ , b) → n b }

mutual
  idle-∅ᵛ : ∀ {t} → Idleᵛ {t} ∅ᵛ
  idle-∅ᵛ {base n}    = idle-∅ (collection n)
  idle-∅ᵛ {nested ts} = bare-∅s , refl , λ ()

  open-∅ᵛ : ∀ {t} → ¬ Fixedᵛ {t} ∅ᵛ
  open-∅ᵛ {base n} f = open-∅ (collection n) f
  open-∅ᵛ {nested _} ()

  bare-∅s : ∀ {ts} → Bare {ts} ∅s
  bare-∅s {[]}     = tt
  bare-∅s {t ∷ ts} = (idle-∅ᵛ {t} , open-∅ᵛ {t}) , bare-∅s

mutual
  idle-openᵛ : ∀ {t} {c : Val t} → Idleᵛ c → ¬ Fixedᵛ c → c ≡ ∅ᵛ
  idle-openᵛ {base n} {val c} i o = cong val (idle-open (collection n) i o)
  idle-openᵛ {nested _} {nested x [] open′} (b , refl , _) _ = cong (λ z → nested z [] open′) (bare-empty b)
  idle-openᵛ {nested _} {nested x [] arrived} _ o = ⊥-elim (o arrived)
  idle-openᵛ {nested _} {nested x [] passed}  _ o = ⊥-elim (o passed)

  bare-empty : ∀ {ts} {x : Vals ts} → Bare x → x ≡ ∅s
  bare-empty {x = []}     _             = refl
  bare-empty {x = c ∷ cs} ((i , o) , b) = cong₂ _∷_ (idle-openᵛ i o) (bare-empty b)

rest-idleᵛ : ∀ {t} (c : Val t) → Idleᵛ (restᵛ c)
rest-idleᵛ {base n} (val c)      = rest-idle (collection n) c
rest-idleᵛ (nested _ _ open′)    = bare-∅s , refl , λ ()
rest-idleᵛ (nested _ _ arrived)  = bare-∅s , refl , λ ()
rest-idleᵛ (nested _ _ passed)   = bare-∅s , refl , λ ()

rest-openᵛ : ∀ {t} {c : Val t} → ¬ Fixedᵛ c → restᵛ c ≡ ∅ᵛ
rest-openᵛ {base n} {val c} o = cong val (rest-open (collection n) o)
rest-openᵛ {nested _} {nested _ _ open′}   o = refl
rest-openᵛ {nested _} {nested _ _ arrived} o = ⊥-elim (o arrived)
rest-openᵛ {nested _} {nested _ _ passed}  o = ⊥-elim (o passed)

rest-fixedᵛ : ∀ {t} {c : Val t} → Fixedᵛ c → Fixedᵛ (restᵛ c)
rest-fixedᵛ {base n} {val c} f = rest-fixed (collection n) f
rest-fixedᵛ {nested _} {nested _ _ arrived} _ = passed
rest-fixedᵛ {nested _} {nested _ _ passed}  _ = passed

fresh-fixᵛ : ∀ {t} {c : Val t} → Freshᵛ c → Freshᵛ (fixᵛ c)
fresh-fixᵛ {base n} {val c} f = fresh-fix (collection n) f
fresh-fixᵛ {nested _} {nested x _ open′}   (f , open′)   = f , arrived
fresh-fixᵛ {nested _} {nested x _ arrived} (f , arrived) = f , arrived

freshes-fix : ∀ {ts} (x : Vals ts) → Freshes x → Freshes (fixes x)
freshes-fix []       _        = tt
freshes-fix (c ∷ cs) (f , fs) = fresh-fixᵛ {c = c} f , freshes-fix cs fs

mutual
  fresh-∅ᵛ : ∀ {t} → Freshᵛ {t} ∅ᵛ
  fresh-∅ᵛ {base n}    = fresh-∅ (collection n)
  fresh-∅ᵛ {nested ts} = freshes-∅ , open′

  freshes-∅ : ∀ {ts} → Freshes {ts} ∅s
  freshes-∅ {[]}     = tt
  freshes-∅ {t ∷ ts} = fresh-∅ᵛ {t} , freshes-∅

mutual
  ⊹-identityˡ : ∀ {t} {d : Val t} → Freshᵛ d → ∅ᵛ ⊹ d ≡ d
  ⊹-identityˡ {base n} {val d} f = cong val (identityˡ (collection n) f)
  ⊹-identityˡ {nested _} {nested y ys open′}   (f , open′)   = cong (λ v → nested v ys open′) (⊹s-identityˡ y f)
  ⊹-identityˡ {nested _} {nested y ys arrived} (f , arrived) = cong (λ v → nested v ys arrived) (⊹s-identityˡ y f)

  ⊹s-identityˡ : ∀ {ts} (d : Vals ts) → Freshes d → ∅s ⊹s d ≡ d
  ⊹s-identityˡ []       _        = refl
  ⊹s-identityˡ (d ∷ ds) (f , fs) = cong₂ _∷_ (⊹-identityˡ {d = d} f) (⊹s-identityˡ ds fs)

rest-arriveᵛ : ∀ {t} {c : Val t} d → ¬ Fixedᵛ c → restᵛ (c ⊹ d) ≡ restᵛ (∅ᵛ ⊹ d)
rest-arriveᵛ {base n} {val c} (val d) o = cong val (rest-arrive (collection n) d o)
rest-arriveᵛ {nested _} {nested _ _ arrived} _ o = ⊥-elim (o arrived)
rest-arriveᵛ {nested _} {nested _ _ passed}  _ o = ⊥-elim (o passed)
rest-arriveᵛ {nested _} {nested _ [] open′}      (nested _ _ _) _ = refl
rest-arriveᵛ {nested _} {nested _ (_ ∷ _) open′} (nested _ _ _) _ = refl

arrive-busyᵛ : ∀ {t} {c : Val t} d → ¬ Fixedᵛ c → Fixedᵛ (c ⊹ d) → ¬ Idleᵛ (c ⊹ d)
arrive-busyᵛ {base n} {val c} (val d) = arrive-busy (collection n) d
arrive-busyᵛ {nested _} {nested _ _ arrived} _ o = ⊥-elim (o arrived)
arrive-busyᵛ {nested _} {nested _ _ passed}  _ o = ⊥-elim (o passed)
arrive-busyᵛ {nested _} {nested _ [] open′}      (nested _ _ arrived) _ _ (_ , _ , n) = n refl
arrive-busyᵛ {nested _} {nested _ [] open′}      (nested _ _ passed)  _ _ (_ , _ , n) = n refl
arrive-busyᵛ {nested _} {nested _ (_ ∷ _) open′} (nested _ _ arrived) _ _ (_ , _ , n) = n refl
arrive-busyᵛ {nested _} {nested _ (_ ∷ _) open′} (nested _ _ passed)  _ _ (_ , _ , n) = n refl

fresh-busyᵛ : ∀ {t} {c : Val t} → Freshᵛ c → Fixedᵛ c → ¬ Idleᵛ c
fresh-busyᵛ {base n} {val c} f = fresh-busy (collection n) f
fresh-busyᵛ {nested _} {nested _ _ arrived} (_ , arrived) arrived (_ , _ , n) = n refl

-- A collection again: the closure under nesting is a language like any other.
closure : Ty → Collection
closure t = record
  { Value = Val t ; _++_ = _⊹_ ; ∅ = ∅ᵛ ; fix = fixᵛ ; Fixed = Fixedᵛ ; fixed? = fixedᵛ?
  ; fix-fixes = fixᵛ-fixes ; fixed-absorbs = λ {c} → ⊹-absorbs {c = c} ; identityʳ = ⊹-identityʳ ; identityˡ = λ {d} → ⊹-identityˡ {d = d}
  ; assoc = ⊹-assoc ; open-∅ = open-∅ᵛ {t}
  ; rest = restᵛ ; Idle = Idleᵛ ; idle? = idleᵛ? ; idle-∅ = idle-∅ᵛ {t} ; rest-idle = rest-idleᵛ ; rest-open = λ {c} → rest-openᵛ {c = c}
  ; rest-fixed = λ {c} → rest-fixedᵛ {c = c} ; idle-open = λ {c} → idle-openᵛ {c = c}
  ; rest-arrive = λ {c} → rest-arriveᵛ {c = c} ; arrive-busy = λ {c} → arrive-busyᵛ {c = c} ; Fresh = Freshᵛ ; fresh-∅ = fresh-∅ᵛ {t} ; fresh-fix = λ {c} → fresh-fixᵛ {c = c} ; fresh-busy = λ {c} → fresh-busyᵛ {c = c} }

------------------------------------------------------------------------
-- Tuples of deltas.

⊕-none : ∀ {ts} (v : Vals ts) → v ⊕ none ≡ v
⊕-none []       = refl
⊕-none (c ∷ cs) = cong (c ∷_) (⊕-none cs)

⊕*-++ : ∀ {ts} (v : Vals ts) ds es → v ⊕* (ds L.++ es) ≡ (v ⊕* ds) ⊕* es
⊕*-++ v []       es = refl
⊕*-++ v (d ∷ ds) es = ⊕*-++ (v ⊕ d) ds es

-- Deltas that have the same effect on every value.
record _≋_ {ts} (ds es : List (Deltas ts)) : Set where
  constructor same
  field on : ∀ v → v ⊕* ds ≡ v ⊕* es

open _≋_ public

≋-refl : ∀ {ts} {a : List (Deltas ts)} → a ≋ a
≋-refl = same λ v → refl

≋-sym : ∀ {ts} {a b : List (Deltas ts)} → a ≋ b → b ≋ a
≋-sym p = same λ v → sym (on p v)

≋-trans : ∀ {ts} {a b c : List (Deltas ts)} → a ≋ b → b ≋ c → a ≋ c
≋-trans p q = same λ v → trans (on p v) (on q v)

≋-++ : ∀ {ts} {a b c d : List (Deltas ts)} → a ≋ b → c ≋ d → (a L.++ c) ≋ (b L.++ d)
≋-++ {a = a} {b} {c} {d} p q = same λ v →
  trans (⊕*-++ v a c) (trans (cong (_⊕* c) (on p v)) (trans (on q (v ⊕* b)) (sym (⊕*-++ v b d))))

-- A delta may be cut: both parts, one after the other, have the effect of the whole.
cut : ∀ {ts} → Deltas ts → Deltas ts → Deltas ts
cut []             []             = []
cut (nothing ∷ ds) (e ∷ es)       = e ∷ cut ds es
cut (just d ∷ ds)  (nothing ∷ es) = just d ∷ cut ds es
cut (just d ∷ ds)  (just e ∷ es)  = just (d ⊹ e) ∷ cut ds es

⊕-cut : ∀ {ts} (v : Vals ts) d e → (v ⊕ d) ⊕ e ≡ v ⊕ cut d e
⊕-cut []       []             []             = refl
⊕-cut (c ∷ cs) (nothing ∷ ds) (e ∷ es)       = cong (add c e ∷_) (⊕-cut cs ds es)
⊕-cut (c ∷ cs) (just d ∷ ds)  (nothing ∷ es) = cong (c ⊹ d ∷_) (⊕-cut cs ds es)
⊕-cut (c ∷ cs) (just d ∷ ds)  (just e ∷ es)  = cong₂ _∷_ (⊹-assoc c d e) (⊕-cut cs ds es)

cut-≋ : ∀ {ts} (d e : Deltas ts) → (d ∷ e ∷ []) ≋ (cut d e ∷ [])
cut-≋ d e = same λ v → ⊕-cut v d e

------------------------------------------------------------------------
-- Tuples side by side (the paper's I₁ · I₂).

infixr 5 _·_ _·ᵈ_

_·_ : ∀ {as bs} → Vals as → Vals bs → Vals (as L.++ bs)
[]       · ws = ws
(v ∷ vs) · ws = v ∷ (vs · ws)

_·ᵈ_ : ∀ {as bs} → Deltas as → Deltas bs → Deltas (as L.++ bs)
[]       ·ᵈ ws = ws
(v ∷ vs) ·ᵈ ws = v ∷ (vs ·ᵈ ws)

left : ∀ {as bs} → Vals (as L.++ bs) → Vals as
left {[]}     vs       = []
left {_ ∷ as} (v ∷ vs) = v ∷ left vs

right : ∀ {as bs} → Vals (as L.++ bs) → Vals bs
right {[]}     vs       = vs
right {_ ∷ as} (v ∷ vs) = right {as} vs

leftᵈ : ∀ {as bs} → Deltas (as L.++ bs) → Deltas as
leftᵈ {[]}     vs       = []
leftᵈ {_ ∷ as} (v ∷ vs) = v ∷ leftᵈ vs

rightᵈ : ∀ {as bs} → Deltas (as L.++ bs) → Deltas bs
rightᵈ {[]}     vs       = vs
rightᵈ {_ ∷ as} (v ∷ vs) = rightᵈ {as} vs

left-· : ∀ {as bs} (v : Vals as) (w : Vals bs) → left (v · w) ≡ v
left-· []       w = refl
left-· (v ∷ vs) w = cong (v ∷_) (left-· vs w)

right-· : ∀ {as bs} (v : Vals as) (w : Vals bs) → right {as} (v · w) ≡ w
right-· []       w = refl
right-· (v ∷ vs) w = right-· vs w

·-split : ∀ {as bs} (v : Vals (as L.++ bs)) → left {as} v · right {as} v ≡ v
·-split {[]}     v        = refl
·-split {_ ∷ as} (v ∷ vs) = cong (v ∷_) (·-split {as} vs)

·-⊕ : ∀ {as bs} (v : Vals as) (w : Vals bs) d e → (v · w) ⊕ (d ·ᵈ e) ≡ (v ⊕ d) · (w ⊕ e)
·-⊕ []       w []       e = refl
·-⊕ (v ∷ vs) w (d ∷ ds) e = cong (add v d ∷_) (·-⊕ vs w ds e)

left-⊕ : ∀ {as bs} (v : Vals (as L.++ bs)) d → left {as} (v ⊕ d) ≡ left {as} v ⊕ leftᵈ {as} d
left-⊕ {[]}     v        d        = refl
left-⊕ {_ ∷ as} (v ∷ vs) (d ∷ ds) = cong (add v d ∷_) (left-⊕ {as} vs ds)

right-⊕ : ∀ {as bs} (v : Vals (as L.++ bs)) d → right {as} (v ⊕ d) ≡ right {as} v ⊕ rightᵈ {as} d
right-⊕ {[]}     v        d        = refl
right-⊕ {_ ∷ as} (v ∷ vs) (d ∷ ds) = right-⊕ {as} vs ds

leftᵈ-·ᵈ : ∀ {as bs} (v : Deltas as) (w : Deltas bs) → leftᵈ (v ·ᵈ w) ≡ v
leftᵈ-·ᵈ []       w = refl
leftᵈ-·ᵈ (v ∷ vs) w = cong (v ∷_) (leftᵈ-·ᵈ vs w)

rightᵈ-·ᵈ : ∀ {as bs} (v : Deltas as) (w : Deltas bs) → rightᵈ {as} (v ·ᵈ w) ≡ w
rightᵈ-·ᵈ []       w = refl
rightᵈ-·ᵈ (v ∷ vs) w = rightᵈ-·ᵈ vs w

∅s-· : ∀ {as bs} → ∅s {as} · ∅s {bs} ≡ ∅s {as L.++ bs}
∅s-· {[]}     = refl
∅s-· {a ∷ as} = cong (∅ᵛ ∷_) (∅s-· {as})

fixes-· : ∀ {as bs} (v : Vals as) (w : Vals bs) → fixes (v · w) ≡ fixes v · fixes w
fixes-· []       w = refl
fixes-· (v ∷ vs) w = cong (fixᵛ v ∷_) (fixes-· vs w)
