{-# OPTIONS --safe #-}

-- What operators and graphs have in common: buffered inputs, small steps that emit deltas, and the laws of L^O.
-- From the laws follow termination, confluence and eager execution of runs.

open import Flo.Collection

module Flo.Machine {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; _++_; [_])
open import Data.List.Relation.Unary.Any using (Any)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.String using (String)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; subst; subst₂)
open import Relation.Nullary using (¬_; Dec; yes; no)

import Flo.Rewriting as R
open import Flo.Value collection

record Machine (I O : Tys) : Set₁ where
  field
    State    : Set
    initial  : State
    inputs   : State → Vals I
    setinput : State → Vals I → State
    Step     : State → State → Deltas O → Set

    -- All enabled steps, as flo.core.semantics.small_steps gives them.
    steps    : ∀ s → List (∃ λ s′ → ∃ λ o → Step s s′ o)
    path     : ∀ {s s′ o} → Step s s′ o → List String  -- GraphStep.path: the rules from the root to the operator's own
    complete : ∀ {s s′ o} → Step s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (steps s)

    get-set       : ∀ s v → inputs (setinput s v) ≡ v
    set-get       : ∀ s → setinput s (inputs s) ≡ s
    set-set       : ∀ s v w → setinput (setinput s v) w ≡ setinput s w
    initial-empty : inputs initial ≡ ∅s

  step? : ∀ s → Dec (∃ λ s′ → ∃ λ o → Step s s′ o)
  step? s with steps s | (λ {s′} {o} → complete {s} {s′} {o})
  ... | []    | all = no λ { (_ , _ , x) → no-Any (all x) }
    where
    no-Any : ∀ {A : Set} {P : A → Set} → ¬ Any P []
    no-Any ()
  ... | x ∷ _ | _   = yes x

  -- New data arrives: setinput(e, inputs(e) ++ Δ).
  push : State → Deltas I → State
  push s d = setinput s (inputs s ⊕ d)

  push* : State → List (Deltas I) → State
  push* s ds = setinput s (inputs s ⊕* ds)

  push*-[] : ∀ s → push* s [] ≡ s
  push*-[] = set-get

  push*-∷ : ∀ s d ds → push* (push s d) ds ≡ push* s (d ∷ ds)
  push*-∷ s d ds = trans (set-set _ _ _) (cong (λ v → setinput s (v ⊕* ds)) (get-set s _))

  push*-≋ : ∀ s {ds es} → ds ≋ es → push* s ds ≡ push* s es
  push*-≋ s p = cong (setinput s) (on p (inputs s))

  infixr 5 _◅_ _◅◅_

  -- Any number of steps, with what they emit.
  data Steps : State → State → List (Deltas O) → Set where
    ε   : ∀ {s} → Steps s s []
    _◅_ : ∀ {s t u o os} → Step s t o → Steps t u os → Steps s u (o ∷ os)

  _◅◅_ : ∀ {s t u os ps} → Steps s t os → Steps t u ps → Steps s u (os ++ ps)
  ε       ◅◅ q = q
  (x ◅ p) ◅◅ q = x ◅ (p ◅◅ q)

  -- Two states after which the same state is reached with the same outputs, given what was emitted before.
  record Join (s : State) (os : List (Deltas O)) (t : State) (ps : List (Deltas O)) : Set where
    pattern; constructor joined
    field
      {meeting} : State
      {os′ ps′} : List (Deltas O)
      path₁     : Steps s meeting os′
      path₂     : Steps t meeting ps′
      agree     : (os ++ os′) ≋ (ps ++ ps′)

  join-≡ : ∀ {s t os ps} → s ≡ t → os ≋ ps → Join s os t ps
  join-≡ refl p = joined ε ε (≋-++ p ≋-refl)

  join-sym : ∀ {s t os ps} → Join s os t ps → Join t ps s os
  join-sym (joined p q e) = joined q p (≋-sym e)

  -- A configuration: the state and the outputs so far; the relation → of §4.
  Config : Set
  Config = State × Vals O

  data _⟶_ : Config → Config → Set where
    step : ∀ {s t o w} → Step s t o → (s , w) ⟶ (t , w ⊕ o)

  open R.Rewrite _⟶_ public using (_⟶*_; Stuck; _⇊_; Terminating; LocallyConfluent; Confluent)
  module Rw = R.Rewrite _⟶_

  lift : ∀ {s t os} → Steps s t os → ∀ w → (s , w) ⟶* (t , w ⊕* os)
  lift ε       w = Rw.ε
  lift (x ◅ p) w = step x Rw.◅ lift p (w ⊕ _)

  unlift : ∀ {s t w x} → (s , w) ⟶* (t , x) → ∃ λ os → Steps s t os × (w ⊕* os ≡ x)
  unlift Rw.ε              = [] , ε , refl
  unlift (step x Rw.◅ p) = let os , q , e = unlift p in _ ∷ os , (x ◅ q) , e

  join-⇊ : ∀ {s t os ps} → Join s os t ps → ∀ w → (s , w ⊕* os) ⇊ (t , w ⊕* ps)
  join-⇊ {s} {t} {os} {ps} (joined {u} {os′} {ps′} p q e) w =
    (u , (w ⊕* os) ⊕* os′) , lift p _ ,
    subst (λ x → (t , w ⊕* ps) ⟶* (u , x))
      (trans (sym (⊕*-++ w ps ps′)) (trans (sym (on e w)) (⊕*-++ w os os′))) (lift q _)

  Halted : State → Set
  Halted s = ∀ {t o} → ¬ Step s t o

  halted-stuck : ∀ {s w} → Halted s → Stuck (s , w)
  halted-stuck h (step x) = h x

  stuck-halted : ∀ {s w} → Stuck (s , w) → Halted s
  stuck-halted st x = st (step x)

  -- A run of the event loop (figure 1): data arrives, and steps are taken, in any order.
  data Run : Config → List (Deltas I) → Config → Set where
    done   : ∀ {c} → Run c [] c
    take   : ∀ {c c′ c″ ds} → c ⟶ c′ → Run c′ ds c″ → Run c ds c″
    arrive : ∀ {s w ds c} d → Run (push s d , w) ds c → Run (s , w) (d ∷ ds) c

-- The contract of L^O, as Flo requires it (docs/deviations.md, 22 and 26).
record Lawful {I O : Tys} (M : Machine I O) : Set where
  open Machine M
  field
    terminates : WellFounded (λ t s → ∃ λ o → Step s t o)
    confluent  : ∀ {s t u o p} → Step s t o → Step s u p → Join t [ o ] u [ p ]
    eager      : ∀ {s t o} d → Step s t o → Join (push s d) [] (push t d) [ o ]

module Theory {I O : Tys} (M : Machine I O) (lawful : Lawful M) where
  open Machine M
  open Lawful lawful

  -- Termination of a run between pushes.
  termination : Terminating
  termination (s , w) = go (terminates s)
    where
    go : ∀ {s w} → Acc (λ t s → ∃ λ o → Step s t o) s → Acc (λ y x → x ⟶ y) (s , w)
    go (acc rs) = acc λ { _ (step x) → go (rs _ (_ , x)) }

  locally-confluent : LocallyConfluent
  locally-confluent {s , w} (step x) (step y) = join-⇊ (confluent x y) w

  confluence : Confluent
  confluence = Rw.newman termination locally-confluent

  can-step? : ∀ c → Dec (∃ (c ⟶_))
  can-step? (s , w) with step? s
  ... | yes (_ , _ , x) = yes (_ , step x)
  ... | no none         = no λ { (_ , step x) → none (_ , _ , x) }

  -- Every state reaches a stuck one, and only one.
  run-to-stuck : ∀ c → ∃ λ f → (c ⟶* f) × Stuck f
  run-to-stuck = Rw.run termination can-step?

  unique : ∀ {c f g} → c ⟶* f → c ⟶* g → Stuck f → Stuck g → f ≡ g
  unique = Rw.unique-stuck confluence

  -- Data may arrive before or after a step.
  push*-step : ∀ {s t o} ds w → Step s t o → (push* s ds , w) ⇊ (push* t ds , w ⊕ o)
  push*-step {s} {t} {o} [] w x =
    subst₂ (λ a b → (a , w) ⇊ (b , w ⊕ o)) (sym (push*-[] s)) (sym (push*-[] t))
      ((t , w ⊕ o) , (step x Rw.◅ Rw.ε) , Rw.ε)
  push*-step {s} {t} {o} (d ∷ ds) w x with eager d x
  ... | joined {u} p q e =
    subst₂ (λ a b → (a , w) ⇊ (b , w ⊕ o)) (push*-∷ s d ds) (push*-∷ t d ds)
      (Rw.⇊-trans confluence (push*-steps ds w p)
        (subst (λ z → (push* u ds , z) ⇊ (push* (push t d) ds , w ⊕ o)) (sym (on e w))
          (⇊-sym (push*-steps ds (w ⊕ o) q))))
    where
    ⇊-sym : ∀ {a b} → a ⇊ b → b ⇊ a
    ⇊-sym (c , p , q) = c , q , p
    push*-steps : ∀ {s t os} ds w → Steps s t os → (push* s ds , w) ⇊ (push* t ds , w ⊕* os)
    push*-steps ds w ε       = _ , Rw.ε , Rw.ε
    push*-steps ds w (x ◅ p) = Rw.⇊-trans confluence (push*-step ds w x) (push*-steps ds (w ⊕ _) p)

  -- A run that ends in a stuck state ends where the run ends that has all its data at once.
  at-once : ∀ {s w ds f} → Run (s , w) ds f → Stuck f → (push* s ds , w) ⟶* f
  at-once {s} {w} done st = subst (λ a → (a , w) ⟶* (s , w)) (sym (push*-[] s)) Rw.ε
  at-once {ds = ds} {f} (take (step x) r) st =
    Rw.reached st (Rw.⇊-trans confluence (push*-step ds _ x) (f , at-once r st , Rw.ε))
  at-once {s} {w} {d ∷ ds} {f} (arrive d r) st = subst (λ a → (a , w) ⟶* f) (push*-∷ s d ds) (at-once r st)

  -- Eager execution: all schedules and all cuts of the input reach one stuck state, with the same outputs.
  eager-execution : ∀ {c ds es f g} → ds ≋ es → Run c ds f → Run c es g → Stuck f → Stuck g → f ≡ g
  eager-execution {s , w} {g = g} p q r sf sg =
    unique (at-once q sf) (subst (λ a → (a , w) ⟶* g) (sym (push*-≋ s p)) (at-once r sg)) sf sg

  -- Eager execution of graphs as the paper states it (Definition 4.2).
  eager-step : ∀ {s t w x} d → (s , w) ⟶ (t , x) → ∃ λ f → Stuck f × ((push s d , w) ⟶* f) × ((push t d , x) ⟶* f)
  eager-step {s} {t} {w} d (step {o = o} x) =
    let f , p , st = run-to-stuck (push t d , w ⊕ o)
        c , q , r  = join-⇊ (eager d x) w
    in f , st , Rw.reached st (Rw.⇊-trans confluence (c , q , r) (f , p , Rw.ε)) , p
