{-# OPTIONS --safe #-}

-- Boundedness flags and subtyping (figure 2), streaming progress (Definition 3.3), and that composition keeps it.
-- Progress is required of what a program reaches: from initial states and outputs (docs/deviations.md, 23).

open import Flo.Collection

module Flo.Progress {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; _++_)
open import Data.Product using (∃; _×_; _,_)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst; subst₂)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Composition collection

data Bound : Set where
  B U : Bound

-- The flag of a stream; that of a nested stream comes with those of its inner streams.
mutual
  Flag : Ty → Set
  Flag (base _)    = Bound
  Flag (nested ts) = Bound × Flags ts

  data Flags : Tys → Set where
    []  : Flags []
    _∷_ : ∀ {t ts} → Flag t → Flags ts → Flags (t ∷ ts)

outer : ∀ {t} → Flag t → Bound
outer {base _}   f       = f
outer {nested _} (f , _) = f

infixr 5 _·ᶠ_

_·ᶠ_ : ∀ {as bs} → Flags as → Flags bs → Flags (as ++ bs)
[]       ·ᶠ gs = gs
(f ∷ fs) ·ᶠ gs = f ∷ (fs ·ᶠ gs)

data _≤_ : Bound → Bound → Set where
  reflexive-subtype : ∀ {f} → f ≤ f
  bound-subtype     : B ≤ U

-- An inner stream may be widened, too (flo.core.nested.Nested.accepts).
mutual
  _≤ᵗ_ : ∀ {t} → Flag t → Flag t → Set
  _≤ᵗ_ {base _}   f        g        = f ≤ g
  _≤ᵗ_ {nested _} (f , fs) (g , gs) = (f ≤ g) × (fs ≤* gs)

  data _≤*_ : ∀ {ts} → Flags ts → Flags ts → Set where
    []  : [] ≤* []
    _∷_ : ∀ {t ts} {f g : Flag t} {fs gs : Flags ts} → f ≤ᵗ g → fs ≤* gs → (f ∷ fs) ≤* (g ∷ gs)

-- Bounded streams are fixed, the bounded inner streams of every tuple, too, and no end was passed on yet.
mutual
  Completeᵛ : ∀ {t} → Flag t → Val t → Set
  Completeᵛ {base _}   f        c               = Freshᵛ c × (f ≡ B → Fixedᵛ c)
  Completeᵛ {nested _} (f , fs) (nested x xs e) = (Freshes x × Unpassed e) × (f ≡ B → Ended e) × CompleteAll fs xs

  data Complete : ∀ {ts} → Flags ts → Vals ts → Set where
    []  : Complete [] []
    _∷_ : ∀ {t ts} {f : Flag t} {fs} {c : Val t} {cs : Vals ts} → Completeᵛ f c → Complete fs cs → Complete (f ∷ fs) (c ∷ cs)

  data CompleteAll {ts} (fs : Flags ts) : List (Vals ts) → Set where
    []  : CompleteAll fs []
    _∷_ : ∀ {v vs} → Complete fs v → CompleteAll fs vs → CompleteAll fs (v ∷ vs)

fresh : ∀ {t} (f : Flag t) (c : Val t) → Completeᵛ f c → Freshᵛ c
fresh {base _}   f c              (n , _) = n
fresh {nested _} f (nested _ _ _) (n , _) = n

fixed-if : ∀ {t} (f : Flag t) (c : Val t) → Completeᵛ f c → outer f ≡ B → Fixedᵛ c
fixed-if {base _}   f c              (_ , b)     = b
fixed-if {nested _} f (nested _ _ _) (_ , b , _) = b

mutual
  widenᵛ : ∀ {t} {f g : Flag t} (c : Val t) → f ≤ᵗ g → Completeᵛ f c → Completeᵛ g c
  widenᵛ {base _}   c              reflexive-subtype       p = p
  widenᵛ {base _}   c              bound-subtype           (n , _) = n , λ ()
  widenᵛ {nested _} (nested _ xs _) (reflexive-subtype , l) (n , b , cs) = n , b , widen-all l cs
  widenᵛ {nested _} (nested _ xs _) (bound-subtype , l)     (n , _ , cs) = n , (λ ()) , widen-all l cs

  widen : ∀ {ts} {fs gs : Flags ts} {v} → fs ≤* gs → Complete fs v → Complete gs v
  widen []       []                 = []
  widen (l ∷ ls) (_∷_ {c = c} p ps) = widenᵛ c l p ∷ widen ls ps

  widen-all : ∀ {ts} {fs gs : Flags ts} {vs} → fs ≤* gs → CompleteAll fs vs → CompleteAll gs vs
  widen-all l []       = []
  widen-all l (p ∷ ps) = widen l p ∷ widen-all l ps

mutual
  -- The end of a complete stream leaves it complete.
  complete-fixᵛ : ∀ {t} {f : Flag t} (c : Val t) → Completeᵛ f c → Completeᵛ f (fixᵛ c)
  complete-fixᵛ {base n} (val c) (n′ , _) = fresh-fixᵛ {c = val c} n′ , λ _ → fixᵛ-fixes (val c)
  complete-fixᵛ {nested _} c@(nested x xs e) (n , _ , cs) = fresh-fixᵛ {c = c} n , (λ _ → fixᵛ-fixes c) , complete-each cs

  complete-fixes : ∀ {ts} {fs : Flags ts} {v} → Complete fs v → Complete fs (fixes v)
  complete-fixes []                 = []
  complete-fixes (_∷_ {c = c} p ps) = complete-fixᵛ c p ∷ complete-fixes ps

  complete-each : ∀ {ts} {fs : Flags ts} {vs} → CompleteAll fs vs → CompleteAll fs (fix-each vs)
  complete-each []       = []
  complete-each (p ∷ ps) = complete-fixes p ∷ complete-each ps

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

  -- The same for a body of `nest`, which begins with what was deferred: without the ends of the inputs in the first
  -- state, with them in the second. `Related` is about the states in which the two runs are stuck.
  ProgressFrom : State → State → (State → State → Set) → Flags I → Flags O → Set
  ProgressFrom s₀ s₁ Related fi fo = ∀ v → Complete fi v → ∀ {s w} → (setinput s₀ v , ∅s) ⟶* (s , w) → Stuck (s , w) →
    Complete fo w × ∃ λ t → ((setinput s₁ (fixes v) , ∅s) ⟶* (t , fixes w)) × Stuck (t , fixes w) × Related s t

  to-from : ∀ {fi fo} → Progress fi fo → ProgressFrom initial initial (λ _ _ → ⊤) fi fo
  to-from p v c r st = let cw , t , q , su = p v c r st in cw , t , q , su , tt

  from-to : ∀ {fi fo Related} → ProgressFrom initial initial Related fi fo → Progress fi fo
  from-to p v c r st = let cw , t , q , su , _ = p v c r st in cw , t , q , su

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
    in-order : ∀ {a₀ c₀ v a m c w} → C.inputs c₀ ≡ ∅s →
      (A.setinput a₀ v , ∅s) A.⟶* (a , m) → (C.setinput c₀ m , ∅s) C.⟶* (c , w) →
      (SM.setinput (a₀ , c₀) v , ∅s) SM.⟶* ((a , c) , w)
    in-order {a₀} {c₀} {v} {a} {m} empty p q =
      let ms , p′ , e = A.unlift p
          os , q′ , f = C.unlift q
          fed : C.push* c₀ ms ≡ C.setinput c₀ m
          fed = cong (C.setinput c₀) (trans (cong (_⊕* ms) empty) e)
          r = S.left-run p′ c₀ SM.◅◅ subst (λ z → SM.Steps (a , z) _ os) (sym fed) (S.right-run q′ a)
      in subst (λ z → (SM.setinput (a₀ , c₀) v , ∅s) SM.⟶* ((a , _) , z))
           (trans (on (≋-++ {a = nones ms} {[]} (nones-≋ ms) (≋-refl {a = os})) ∅s) f) (SM.lift r ∅s)

    both-stuck : ∀ {a m c w} → A.Stuck (a , m) → C.Stuck (c , w) → SM.Stuck ((a , c) , w)
    both-stuck sa sc (SM.step (S.sequence-left x))  = sa (A.step x)
    both-stuck sa sc (SM.step (S.sequence-right y)) = sc (C.step y)

  sequence-from : ∀ {a₀ a₁ c₀ c₁ Ra Rc fi fm gm fo} → C.inputs c₀ ≡ ∅s → C.inputs c₁ ≡ ∅s →
    ProgressFrom A a₀ a₁ Ra fi fm → fm ≤* gm → ProgressFrom C c₀ c₁ Rc gm fo →
    ProgressFrom S.machine (a₀ , c₀) (a₁ , c₁) (λ { (a , c) (a′ , c′) → Ra a a′ × Rc c c′ }) fi fo
  sequence-from {a₀} {a₁} {c₀} {c₁} e₀ e₁ pa le pc v cv r st
    with TA.run-to-stuck (A.setinput a₀ v , ∅s)
  ... | (a , m) , p , sa with TC.run-to-stuck (C.setinput c₀ m , ∅s)
  ... | (c , w) , q , sc with TS.unique r (in-order e₀ p q) st (both-stuck sa sc)
  ... | refl with pa v cv p sa
  ... | cm , a′ , p′ , sa′ , ra with pc m (widen le cm) q sc
  ... | cw , c′ , q′ , sc′ , rc = cw , (a′ , c′) , in-order e₁ p′ q′ , both-stuck sa′ sc′ , ra , rc

  sequence-progress : ∀ {fi fm gm fo} → Progress A fi fm → fm ≤* gm → Progress C gm fo → Progress S.machine fi fo
  sequence-progress pa le pc = from-to S.machine (sequence-from C.initial-empty C.initial-empty (to-from A pa) le (to-from C pc))

module _ {I O I′ O′ : Tys} (A : Machine I O) (C : Machine I′ O′) (lawA : Lawful A) (lawC : Lawful C) where
  private
    module A = Machine A
    module C = Machine C
    module TA = Theory A lawA
    module TC = Theory C lawC
    module P = Parallel A C
    module PM = Machine P.machine
    module TP = Theory P.machine (P.lawful lawA lawC)

    beside : ∀ {a₀ c₀ v v′ a m c w} → (A.setinput a₀ v , ∅s) A.⟶* (a , m) → (C.setinput c₀ v′ , ∅s) C.⟶* (c , w) →
      (PM.setinput (a₀ , c₀) (v · v′) , ∅s) PM.⟶* ((a , c) , m · w)
    beside {a₀} {c₀} {v} {v′} {a} {m} {c} {w} p q =
      let ms , p′ , e = A.unlift p
          os , q′ , f = C.unlift q
          start : PM.setinput (a₀ , c₀) (v · v′) ≡ (A.setinput a₀ v , C.setinput c₀ v′)
          start = cong₂ _,_ (cong (A.setinput a₀) (left-· v v′)) (cong (C.setinput c₀) (right-· v v′))
          r = P.left-run p′ (C.setinput c₀ v′) PM.◅◅ P.right-run q′ a
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

  par-from : ∀ {a₀ a₁ c₀ c₁ Ra Rc fi fo gi go} → ProgressFrom A a₀ a₁ Ra fi fo → ProgressFrom C c₀ c₁ Rc gi go →
    ProgressFrom P.machine (a₀ , c₀) (a₁ , c₁) (λ { (a , c) (a′ , c′) → Ra a a′ × Rc c c′ }) (fi ·ᶠ gi) (fo ·ᶠ go)
  par-from {a₀} {a₁} {c₀} {c₁} {fi = fi} pa pc v cv r st
    with TA.run-to-stuck (A.setinput a₀ (left v) , ∅s) | TC.run-to-stuck (C.setinput c₀ (right {I} v) , ∅s)
  ... | (a , m) , p , sa | (c , w) , q , sc
    with TP.unique r (subst (λ z → (PM.setinput (a₀ , c₀) z , ∅s) PM.⟶* ((a , c) , m · w)) (·-split {I} v) (beside p q)) st (both-stuck sa sc)
  ... | refl with pa (left v) (complete-left fi v cv) p sa | pc (right {I} v) (complete-right fi v cv) q sc
  ... | cm , a′ , p′ , sa′ , ra | cw , c′ , q′ , sc′ , rc =
    complete-· cm cw , (a′ , c′) ,
    subst₂ (λ y z → (PM.setinput (a₁ , c₁) y , ∅s) PM.⟶* ((a′ , c′) , z))
      (trans (sym (fixes-· (left v) (right {I} v))) (cong fixes (·-split {I} v))) (sym (fixes-· m w)) (beside p′ q′) ,
    both-stuck sa′ sc′ , ra , rc

  par-progress : ∀ {fi fo gi go} → Progress A fi fo → Progress C gi go → Progress P.machine (fi ·ᶠ gi) (fo ·ᶠ go)
  par-progress pa pc = from-to P.machine (par-from (to-from A pa) (to-from C pc))
