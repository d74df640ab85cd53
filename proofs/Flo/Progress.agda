{-# OPTIONS --safe #-}

-- Boundedness flags and subtyping (figure 2), streaming progress (Definition 3.3), and that composition keeps it.
-- Progress is required of what a program reaches: from initial states and outputs (docs/deviations.md, 23).

open import Flo.Collection

module Flo.Progress {Name : Set} (collection : Name → Collection) where

open import Data.List using ([]; _∷_; _++_)
open import Data.Product using (∃; _×_; _,_)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst; subst₂)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Composition collection

data Bound : Set where
  B U : Bound

data Flags : Tys → Set where
  []  : Flags []
  _∷_ : ∀ {t ts} → Bound → Flags ts → Flags (t ∷ ts)

infixr 5 _·ᶠ_

_·ᶠ_ : ∀ {as bs} → Flags as → Flags bs → Flags (as ++ bs)
[]       ·ᶠ gs = gs
(f ∷ fs) ·ᶠ gs = f ∷ (fs ·ᶠ gs)

data _≤_ : Bound → Bound → Set where
  reflexive-subtype : ∀ {f} → f ≤ f
  bound-subtype     : B ≤ U

data _≤*_ : ∀ {ts} → Flags ts → Flags ts → Set where
  []  : [] ≤* []
  _∷_ : ∀ {t ts f g} {fs gs : Flags ts} → f ≤ g → fs ≤* gs → (_∷_ {t} f fs) ≤* (g ∷ gs)

-- Bounded streams are fixed, and no end was passed on yet.
data Complete : ∀ {ts} → Flags ts → Vals ts → Set where
  []  : Complete [] []
  _∷_ : ∀ {t ts f fs} {c : Val t} {cs : Vals ts} → Freshᵛ c × (f ≡ B → Fixedᵛ c) → Complete fs cs →
    Complete (f ∷ fs) (c ∷ cs)

widen : ∀ {ts} {fs gs : Flags ts} {v} → fs ≤* gs → Complete fs v → Complete gs v
widen []                        []       = []
widen (reflexive-subtype ∷ les) (c ∷ cs) = c ∷ widen les cs
widen (bound-subtype ∷ les)     ((n , _) ∷ cs) = (n , λ ()) ∷ widen les cs

complete-left : ∀ {as bs} (fs : Flags as) {gs : Flags bs} v → Complete (fs ·ᶠ gs) v → Complete fs (left v)
complete-left []       v        c        = []
complete-left (f ∷ fs) (v ∷ vs) (c ∷ cs) = c ∷ complete-left fs vs cs

complete-right : ∀ {as bs} (fs : Flags as) {gs : Flags bs} v → Complete (fs ·ᶠ gs) v → Complete gs (right {as} v)
complete-right []       v        c        = c
complete-right (f ∷ fs) (v ∷ vs) (c ∷ cs) = complete-right fs vs cs

complete-· : ∀ {as bs} {fs : Flags as} {gs : Flags bs} {v w} → Complete fs v → Complete gs w → Complete (fs ·ᶠ gs) (v · w)
complete-· []       d = d
complete-· (c ∷ cs) d = c ∷ complete-· cs d

module _ {I O : Tys} (M : Machine I O) where
  open Machine M

  -- Output maximality (Definition 3.2) and fixed bounded outputs (Definition 3.3).
  Maximal : Vals I → Vals O → Set
  Maximal v w = ∃ λ t → ((setinput initial (fixes v) , ∅s) ⟶* (t , fixes w)) × Stuck (t , fixes w)

  Progress : Flags I → Flags O → Set
  Progress fi fo = ∀ v → Complete fi v → ∀ {s w} →
    (setinput initial v , ∅s) ⟶* (s , w) → Stuck (s , w) → Complete fo w × Maximal v w

-- It is enough to look at one run, because every run ends in the same stuck state.
progress-by : ∀ {I O} (M : Machine I O) → Lawful M → (open Machine M) → ∀ {fi fo} →
  (∀ v → Complete fi v → ∃ λ s → ∃ λ w →
    ((setinput initial v , ∅s) ⟶* (s , w)) × Stuck (s , w) × Complete fo w × Maximal M v w) →
  Progress M fi fo
progress-by M law known v cv r st with known v cv
... | s , w , p , sp , c , m with Theory.unique M law r p st sp
... | refl = c , m

module _ {I M O : Tys} (A : Machine I M) (C : Machine M O) (lawA : Lawful A) (lawC : Lawful C) where
  private
    module A = Machine A
    module C = Machine C
    module TA = Theory A lawA
    module TC = Theory C lawC
    module S = Sequence A C
    module SM = Machine S.machine
    module TS = Theory S.machine (S.lawful lawA lawC)

    -- First the left side runs, then the right side on what it got.
    in-order : ∀ {v a m c w} → (A.setinput A.initial v , ∅s) A.⟶* (a , m) → (C.setinput C.initial m , ∅s) C.⟶* (c , w) →
      (SM.setinput SM.initial v , ∅s) SM.⟶* ((a , c) , w)
    in-order {v} {a} {m} p q =
      let ms , p′ , e = A.unlift p
          os , q′ , f = C.unlift q
          fed : C.push* C.initial ms ≡ C.setinput C.initial m
          fed = cong (C.setinput C.initial) (trans (cong (_⊕* ms) C.initial-empty) e)
          r = S.left-run p′ C.initial SM.◅◅ subst (λ z → SM.Steps (a , z) _ os) (sym fed) (S.right-run q′ a)
      in subst (λ z → (SM.setinput SM.initial v , ∅s) SM.⟶* ((a , _) , z))
           (trans (on (≋-++ {a = nones ms} {[]} (nones-≋ ms) (≋-refl {a = os})) ∅s) f) (SM.lift r ∅s)

    both-stuck : ∀ {a m c w} → A.Stuck (a , m) → C.Stuck (c , w) → SM.Stuck ((a , c) , w)
    both-stuck sa sc (SM.step (S.sequence-left x))  = sa (A.step x)
    both-stuck sa sc (SM.step (S.sequence-right y)) = sc (C.step y)

  sequence-progress : ∀ {fi fm gm fo} → Progress A fi fm → fm ≤* gm → Progress C gm fo → Progress S.machine fi fo
  sequence-progress pa le pc v cv r st
    with TA.run-to-stuck (A.setinput A.initial v , ∅s)
  ... | (a , m) , p , sa with TC.run-to-stuck (C.setinput C.initial m , ∅s)
  ... | (c , w) , q , sc with TS.unique r (in-order p q) st (both-stuck sa sc)
  ... | refl with pa v cv p sa
  ... | cm , a′ , p′ , sa′ with pc m (widen le cm) q sc
  ... | cw , c′ , q′ , sc′ = cw , (a′ , c′) , in-order p′ q′ , both-stuck sa′ sc′

module _ {I O I′ O′ : Tys} (A : Machine I O) (C : Machine I′ O′) (lawA : Lawful A) (lawC : Lawful C) where
  private
    module A = Machine A
    module C = Machine C
    module TA = Theory A lawA
    module TC = Theory C lawC
    module P = Parallel A C
    module PM = Machine P.machine
    module TP = Theory P.machine (P.lawful lawA lawC)

    beside : ∀ {v v′ a m c w} → (A.setinput A.initial v , ∅s) A.⟶* (a , m) → (C.setinput C.initial v′ , ∅s) C.⟶* (c , w) →
      (PM.setinput PM.initial (v · v′) , ∅s) PM.⟶* ((a , c) , m · w)
    beside {v} {v′} {a} {m} {c} {w} p q =
      let ms , p′ , e = A.unlift p
          os , q′ , f = C.unlift q
          start : PM.setinput PM.initial (v · v′) ≡ (A.setinput A.initial v , C.setinput C.initial v′)
          start = cong₂ _,_ (cong (A.setinput A.initial) (left-· v v′)) (cong (C.setinput C.initial) (right-· v v′))
          r = P.left-run p′ (C.setinput C.initial v′) PM.◅◅ P.right-run q′ a
          ms′ = Data.List.map (_·ᵈ none) ms
          os′ = Data.List.map (none {O} ·ᵈ_) os
          end : ∅s ⊕* (ms′ ++ os′) ≡ m · w
          end = trans (⊕*-++ ∅s ms′ os′)
                (trans (cong (λ z → (z ⊕* ms′) ⊕* os′) (sym (∅s-· {O})))
                (trans (cong (_⊕* os′) (P.⊕*-left ∅s ∅s ms)) (trans (P.⊕*-right (∅s ⊕* ms) ∅s os) (cong₂ _·_ e f))))
      in subst₂ (λ s z → (s , ∅s) PM.⟶* ((a , c) , z)) (sym start) end (PM.lift r ∅s)

    both-stuck : ∀ {a m c w z} → A.Stuck (a , m) → C.Stuck (c , w) → PM.Stuck ((a , c) , z)
    both-stuck sa sc (PM.step (P.par-left x))  = sa (A.step x)
    both-stuck sa sc (PM.step (P.par-right y)) = sc (C.step y)

  par-progress : ∀ {fi fo gi go} → Progress A fi fo → Progress C gi go → Progress P.machine (fi ·ᶠ gi) (fo ·ᶠ go)
  par-progress {fi} {fo} {gi} {go} pa pc v cv r st
    with TA.run-to-stuck (A.setinput A.initial (left v) , ∅s) | TC.run-to-stuck (C.setinput C.initial (right {I} v) , ∅s)
  ... | (a , m) , p , sa | (c , w) , q , sc
    with TP.unique r (subst (λ z → (PM.setinput PM.initial z , ∅s) PM.⟶* ((a , c) , m · w)) (·-split {I} v) (beside p q)) st (both-stuck sa sc)
  ... | refl with pa (left v) (complete-left fi v cv) p sa | pc (right {I} v) (complete-right fi v cv) q sc
  ... | cm , a′ , p′ , sa′ | cw , c′ , q′ , sc′ =
    complete-· cm cw , (a′ , c′) ,
    subst₂ (λ y z → (PM.setinput PM.initial y , ∅s) PM.⟶* ((a′ , c′) , z))
      (trans (sym (fixes-· (left v) (right {I} v))) (cong fixes (·-split {I} v))) (sym (fixes-· m w)) (beside p′ q′) ,
    both-stuck sa′ sc′
