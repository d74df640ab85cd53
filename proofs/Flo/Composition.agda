{-# OPTIONS --safe #-}

-- Sequential and parallel composition of machines (figure 6), and that they keep the laws.

open import Flo.Collection

module Flo.Composition {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; _++_; [_]; map)
open import Data.List.Relation.Unary.Any using (Any)
open import Data.List.Relation.Unary.Any.Properties using (++⁺ˡ; ++⁺ʳ; map⁺)
import Data.List.Relation.Unary.Any as Any
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst; subst₂)

open import Flo.Value collection
open import Flo.Machine collection

-- Empty deltas, however many, change nothing.
nones : ∀ {ts} {A : Set} → List A → List (Deltas ts)
nones = map (λ _ → none)

nones-≋ : ∀ {ts} {A : Set} (xs : List A) → nones {ts} xs ≋ []
nones-≋ xs = same (go xs)
  where
  go : ∀ {ts} {A : Set} (xs : List A) (v : Vals ts) → v ⊕* nones xs ≡ v
  go []       v = refl
  go (x ∷ xs) v = trans (cong (_⊕* nones xs) (⊕-none v)) (go xs v)

none-∷ : ∀ {ts} {os : List (Deltas ts)} → (none ∷ os) ≋ os
none-∷ {os = os} = same λ v → cong (_⊕* os) (⊕-none v)

module Sequence {I M O : Tys} (A : Machine I M) (B : Machine M O) where
  private
    module A = Machine A
    module B = Machine B

  data Step : A.State × B.State → A.State × B.State → Deltas O → Set where
    sequence-left  : ∀ {a a′ b m} → A.Step a a′ m → Step (a , b) (a′ , B.push b m) none
    sequence-right : ∀ {a b b′ o} → B.Step b b′ o → Step (a , b) (a , b′) o

  steps : ∀ s → List (∃ λ s′ → ∃ λ o → Step s s′ o)
  steps (a , b) = map (λ { (_ , _ , x) → _ , _ , sequence-left x }) (A.steps a)
               ++ map (λ { (_ , _ , x) → _ , _ , sequence-right x }) (B.steps b)

  complete : ∀ {s s′ o} → Step s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (steps s)
  complete (sequence-left x)  = ++⁺ˡ (map⁺ (Any.map (λ { (refl , refl) → refl , refl }) (A.complete x)))
  complete (sequence-right x) = ++⁺ʳ _ (map⁺ (Any.map (λ { (refl , refl) → refl , refl }) (B.complete x)))

  machine : Machine I O
  machine = record
    { State = A.State × B.State ; initial = A.initial , B.initial
    ; inputs = λ { (a , _) → A.inputs a } ; setinput = λ { (a , b) v → A.setinput a v , b }
    ; Step = Step ; steps = steps ; complete = complete
    ; path = λ { (sequence-left x) → "sequence-left" ∷ A.path x ; (sequence-right x) → "sequence-right" ∷ B.path x }
    ; get-set = λ { (a , _) v → A.get-set a v } ; set-get = λ { (a , b) → cong (_, b) (A.set-get a) }
    ; set-set = λ { (a , b) v w → cong (_, b) (A.set-set a v w) } ; initial-empty = A.initial-empty }

  open Machine machine hiding (Step; steps; complete)

  -- The left side steps; the right side gets what it emits.
  left-run : ∀ {a a′ ms} → A.Steps a a′ ms → ∀ b → Steps (a , b) (a′ , B.push* b ms) (nones ms)
  left-run {a} A.ε b = subst (λ z → Steps (a , b) (a , z) []) (sym (B.push*-[] b)) ε
  left-run {a} {a′} {m ∷ ms} (x A.◅ p) b =
    subst (λ z → Steps (a , b) (a′ , z) (none ∷ nones ms)) (B.push*-∷ b m ms) (sequence-left x ◅ left-run p (B.push b m))

  right-run : ∀ {b b′ os} → B.Steps b b′ os → ∀ a → Steps (a , b) (a , b′) os
  right-run B.ε       a = ε
  right-run (x B.◅ p) a = sequence-right x ◅ right-run p a

  module _ (lawA : Lawful A) (lawB : Lawful B) where
    private
      module LA = Lawful lawA
      module LB = Lawful lawB

    -- A step on the left may add to the right, but it lowers the left (docs/deviations.md, 12).
    terminates : WellFounded (λ t s → ∃ λ o → Step s t o)
    terminates (a , b) = go (LA.terminates a) b
      where
      Falls : A.State × B.State → Set
      Falls = Acc (λ t s → ∃ λ o → Step s t o)
      inner : ∀ {a b} → (∀ a′ → (∃ λ m → A.Step a a′ m) → ∀ b′ → Falls (a′ , b′)) → Acc _ b → Falls (a , b)
      inner lower (acc rb) = acc λ
        { _ (_ , sequence-left x)  → lower _ (_ , x) _
        ; _ (_ , sequence-right y) → inner lower (rb _ (_ , y)) }
      go : ∀ {a} → Acc _ a → ∀ b → Falls (a , b)
      go (acc ra) b = inner (λ a′ x → go (ra a′ x)) (LB.terminates b)

    left-join : ∀ {a a′ ms ns} b → A.Join a ms a′ ns → Join (a , B.push* b ms) [] (a′ , B.push* b ns) []
    left-join {a′ = a′} {ms} {ns} b (A.joined {u} {ms′} {ns′} p q e) =
      joined (left-run p _)
        (subst (λ z → Steps (a′ , B.push* b ns) (u , z) (nones ns′)) meet (left-run q _))
        (≋-trans (nones-≋ ms′) (≋-sym (nones-≋ ns′)))
      where
      push*-++ : ∀ ms ns → B.push* (B.push* b ms) ns ≡ B.push* b (ms ++ ns)
      push*-++ ms ns = trans (B.set-set _ _ _)
        (cong (B.setinput b) (trans (cong (_⊕* ns) (B.get-set b _)) (sym (⊕*-++ (B.inputs b) ms ns))))
      meet : B.push* (B.push* b ns) ns′ ≡ B.push* (B.push* b ms) ms′
      meet = trans (push*-++ ns ns′) (trans (sym (B.push*-≋ b e)) (sym (push*-++ ms ms′)))

    join-none : ∀ {s t os ps} → Join s os t ps → Join s (none ∷ os) t (none ∷ ps)
    join-none (joined p q e) = joined p q (≋-trans none-∷ (≋-trans e (≋-sym none-∷)))

    right-join : ∀ {b b′ os ps} a → B.Join b os b′ ps → Join (a , b) os (a , b′) ps
    right-join a (B.joined p q e) = joined (right-run p a) (right-run q a) e

    -- A step on the left and one on the right.
    across : ∀ {a a′ b b′ m o} → A.Step a a′ m → B.Step b b′ o → Join (a′ , B.push b m) [ none ] (a , b′) [ o ]
    across {a′ = a′} {m = m} x y with right-join a′ (LB.eager m y)
    ... | joined p q e = joined p (sequence-left x ◅ q)
      (≋-trans none-∷ (≋-trans e (≋-++ {a = [ _ ]} ≋-refl (≋-sym none-∷))))

    confluent : ∀ {s t u o p} → Step s t o → Step s u p → Join t [ o ] u [ p ]
    confluent {a , b} (sequence-left x)  (sequence-left y)  = join-none (left-join b (LA.confluent x y))
    confluent {a , b} (sequence-left x)  (sequence-right y) = across x y
    confluent {a , b} (sequence-right x) (sequence-left y)  = join-sym (across y x)
    confluent {a , b} (sequence-right x) (sequence-right y) = right-join a (LB.confluent x y)

    eager : ∀ {s t o} d → Step s t o → Join (push s d) [] (push t d) [ o ]
    eager {a , b} d (sequence-left {m = m} x) with left-join b (LA.eager d x)
    ... | joined p q e =
      joined (subst (λ z → Steps (A.push a d , z) _ _) (B.push*-[] b) p) q (≋-trans e (≋-sym none-∷))
    eager {a , b} d (sequence-right y) = joined (sequence-right y ◅ ε) ε ≋-refl

    lawful : Lawful machine
    lawful = record { terminates = terminates ; confluent = confluent ; eager = eager }

module Parallel {I O I′ O′ : Tys} (A : Machine I O) (B : Machine I′ O′) where
  private
    module A = Machine A
    module B = Machine B

  data Step : A.State × B.State → A.State × B.State → Deltas (O ++ O′) → Set where
    par-left  : ∀ {a a′ b o} → A.Step a a′ o → Step (a , b) (a′ , b) (o ·ᵈ none)
    par-right : ∀ {a b b′ o} → B.Step b b′ o → Step (a , b) (a , b′) (none ·ᵈ o)

  steps : ∀ s → List (∃ λ s′ → ∃ λ o → Step s s′ o)
  steps (a , b) = map (λ { (_ , _ , x) → _ , _ , par-left x }) (A.steps a)
               ++ map (λ { (_ , _ , x) → _ , _ , par-right x }) (B.steps b)

  complete : ∀ {s s′ o} → Step s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (steps s)
  complete (par-left x)  = ++⁺ˡ (map⁺ (Any.map (λ { (refl , refl) → refl , refl }) (A.complete x)))
  complete (par-right x) = ++⁺ʳ _ (map⁺ (Any.map (λ { (refl , refl) → refl , refl }) (B.complete x)))

  machine : Machine (I ++ I′) (O ++ O′)
  machine = record
    { State = A.State × B.State ; initial = A.initial , B.initial
    ; inputs = λ { (a , b) → A.inputs a · B.inputs b }
    ; setinput = λ { (a , b) v → A.setinput a (left v) , B.setinput b (right {I} v) }
    ; Step = Step ; steps = steps ; complete = complete
    ; path = λ { (par-left x) → "par-left" ∷ A.path x ; (par-right x) → "par-right" ∷ B.path x }
    ; get-set = λ { (a , b) v → trans (cong₂ _·_ (A.get-set a _) (B.get-set b _)) (·-split {I} v) }
    ; set-get = λ { (a , b) → cong₂ _,_ (trans (cong (A.setinput a) (left-· (A.inputs a) _)) (A.set-get a))
                                        (trans (cong (B.setinput b) (right-· (A.inputs a) _)) (B.set-get b)) }
    ; set-set = λ { (a , b) v w → cong₂ _,_ (A.set-set a _ _) (B.set-set b _ _) }
    ; initial-empty = trans (cong₂ _·_ A.initial-empty B.initial-empty) (∅s-· {I}) }

  open Machine machine hiding (Step; steps; complete)

  push-parts : ∀ a b d → push (a , b) d ≡ (A.push a (leftᵈ {I} d) , B.push b (rightᵈ {I} d))
  push-parts a b d = cong₂ _,_
    (cong (A.setinput a) (trans (left-⊕ {I} (A.inputs a · B.inputs b) d) (cong (_⊕ leftᵈ {I} d) (left-· (A.inputs a) _))))
    (cong (B.setinput b) (trans (right-⊕ {I} (A.inputs a · B.inputs b) d) (cong (_⊕ rightᵈ {I} d) (right-· (A.inputs a) _))))

  left-run : ∀ {a a′ os} → A.Steps a a′ os → ∀ b → Steps (a , b) (a′ , b) (map (_·ᵈ none) os)
  left-run A.ε       b = ε
  left-run (x A.◅ p) b = par-left x ◅ left-run p b

  right-run : ∀ {b b′ os} → B.Steps b b′ os → ∀ a → Steps (a , b) (a , b′) (map (none ·ᵈ_) os)
  right-run B.ε       a = ε
  right-run (x B.◅ p) a = par-right x ◅ right-run p a

  ⊕*-left : ∀ (v : Vals O) (w : Vals O′) os → (v · w) ⊕* map (_·ᵈ none) os ≡ (v ⊕* os) · w
  ⊕*-left v w []       = refl
  ⊕*-left v w (o ∷ os) =
    trans (cong (_⊕* map (_·ᵈ none) os) (trans (·-⊕ v w o none) (cong ((v ⊕ o) ·_) (⊕-none w)))) (⊕*-left (v ⊕ o) w os)

  ⊕*-right : ∀ (v : Vals O) (w : Vals O′) os → (v · w) ⊕* map (none ·ᵈ_) os ≡ v · (w ⊕* os)
  ⊕*-right v w []       = refl
  ⊕*-right v w (o ∷ os) =
    trans (cong (_⊕* map (none ·ᵈ_) os) (trans (·-⊕ v w none o) (cong (_· (w ⊕ o)) (⊕-none v)))) (⊕*-right v (w ⊕ o) os)

  left-≋ : ∀ {os ps : List (Deltas O)} → os ≋ ps → map (_·ᵈ none {O′}) os ≋ map (_·ᵈ none) ps
  left-≋ {os} {ps} e = same λ v → subst (λ z → z ⊕* map (_·ᵈ none) os ≡ z ⊕* map (_·ᵈ none) ps) (·-split {O} v)
    (trans (⊕*-left (left v) (right {O} v) os)
      (trans (cong (_· right {O} v) (on e (left v))) (sym (⊕*-left (left v) (right {O} v) ps))))

  right-≋ : ∀ {os ps : List (Deltas O′)} → os ≋ ps → map (none {O} ·ᵈ_) os ≋ map (none ·ᵈ_) ps
  right-≋ {os} {ps} e = same λ v → subst (λ z → z ⊕* map (none ·ᵈ_) os ≡ z ⊕* map (none ·ᵈ_) ps) (·-split {O} v)
    (trans (⊕*-right (left v) (right {O} v) os)
      (trans (cong (left {O} v ·_) (on e (right {O} v))) (sym (⊕*-right (left v) (right {O} v) ps))))

  swap-≋ : ∀ (o : Deltas O) (p : Deltas O′) → ((o ·ᵈ none) ∷ (none ·ᵈ p) ∷ []) ≋ ((none ·ᵈ p) ∷ (o ·ᵈ none) ∷ [])
  swap-≋ o p = same λ v → subst (λ z → z ⊕ (o ·ᵈ none) ⊕ (none ·ᵈ p) ≡ z ⊕ (none ·ᵈ p) ⊕ (o ·ᵈ none)) (·-split {O} v)
    (trans (both-left (left v) (right {O} v)) (sym (both-right (left v) (right {O} v))))
    where
    both-left : ∀ v w → (v · w) ⊕ (o ·ᵈ none) ⊕ (none ·ᵈ p) ≡ (v ⊕ o) · (w ⊕ p)
    both-left v w = trans (cong (_⊕ (none ·ᵈ p)) (⊕*-left v w [ o ])) (⊕*-right (v ⊕ o) w [ p ])
    both-right : ∀ v w → (v · w) ⊕ (none ·ᵈ p) ⊕ (o ·ᵈ none) ≡ (v ⊕ o) · (w ⊕ p)
    both-right v w = trans (cong (_⊕ (o ·ᵈ none)) (⊕*-right v w [ p ])) (⊕*-left v (w ⊕ p) [ o ])

  map-++ : ∀ {X Y : Set} (f : X → Y) xs ys → map f (xs ++ ys) ≡ map f xs ++ map f ys
  map-++ f []       ys = refl
  map-++ f (x ∷ xs) ys = cong (f x ∷_) (map-++ f xs ys)

  module _ (lawA : Lawful A) (lawB : Lawful B) where
    private
      module LA = Lawful lawA
      module LB = Lawful lawB

    terminates : WellFounded (λ t s → ∃ λ o → Step s t o)
    terminates (a , b) = go (LA.terminates a) b
      where
      Falls : A.State × B.State → Set
      Falls = Acc (λ t s → ∃ λ o → Step s t o)
      inner : ∀ {a b} → (∀ a′ → (∃ λ m → A.Step a a′ m) → ∀ b′ → Falls (a′ , b′)) → Acc _ b → Falls (a , b)
      inner lower (acc rb) = acc λ
        { _ (_ , par-left x)  → lower _ (_ , x) _
        ; _ (_ , par-right y) → inner lower (rb _ (_ , y)) }
      go : ∀ {a} → Acc _ a → ∀ b → Falls (a , b)
      go (acc ra) b = inner (λ a′ x → go (ra a′ x)) (LB.terminates b)

    left-join : ∀ {a a′ os ps} b → A.Join a os a′ ps → Join (a , b) (map (_·ᵈ none) os) (a′ , b) (map (_·ᵈ none) ps)
    left-join {os = os} {ps} b (A.joined {os′ = os′} {ps′} p q e) = joined (left-run p b) (left-run q b)
      (subst₂ _≋_ (map-++ _ os os′) (map-++ _ ps ps′) (left-≋ e))

    right-join : ∀ {b b′ os ps} a → B.Join b os b′ ps → Join (a , b) (map (none ·ᵈ_) os) (a , b′) (map (none ·ᵈ_) ps)
    right-join {os = os} {ps} a (B.joined {os′ = os′} {ps′} p q e) = joined (right-run p a) (right-run q a)
      (subst₂ _≋_ (map-++ _ os os′) (map-++ _ ps ps′) (right-≋ e))

    confluent : ∀ {s t u o p} → Step s t o → Step s u p → Join t [ o ] u [ p ]
    confluent {a , b} (par-left x)  (par-left y)  = left-join b (LA.confluent x y)
    confluent {a , b} (par-right x) (par-right y) = right-join a (LB.confluent x y)
    confluent {a , b} (par-left {o = o} x)  (par-right {o = p} y) =
      joined (par-right y ◅ ε) (par-left x ◅ ε) (swap-≋ o p)
    confluent {a , b} (par-right {o = p} y) (par-left {o = o} x)  =
      joined (par-left x ◅ ε) (par-right y ◅ ε) (≋-sym (swap-≋ o p))

    eager : ∀ {s t o} d → Step s t o → Join (push s d) [] (push t d) [ o ]
    eager {a , b} d (par-left {a′ = a′} {o = o} x) =
      subst₂ (λ s t → Join s [] t [ o ·ᵈ none ]) (sym (push-parts a b d)) (sym (push-parts a′ b d))
        (left-join (B.push b (rightᵈ {I} d)) (LA.eager (leftᵈ {I} d) x))
    eager {a , b} d (par-right {b′ = b′} {o = o} y) =
      subst₂ (λ s t → Join s [] t [ none ·ᵈ o ]) (sym (push-parts a b d)) (sym (push-parts a b′ d))
        (right-join (A.push a (leftᵈ {I} d)) (LB.eager (rightᵈ {I} d) y))

    lawful : Lawful machine
    lawful = record { terminates = terminates ; confluent = confluent ; eager = eager }
