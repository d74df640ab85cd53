{-# OPTIONS --safe #-}

-- `nest` (figure 12), as Flo implements it: it keeps the outputs of the current inner stream (docs/deviations.md, 5),
-- reads the body with the current inputs (18), and passes the end on (31). The body that it keeps has no inputs of its
-- own: they are in the inner stream.
--
-- The body is any lawful machine, so also a graph with `nest` inside. `next` is the body for the next inner stream,
-- set_defer(g_o, collect_defer(g)), and `ready` whether what was deferred is fixed: both may be any functions.

open import Flo.Collection

module Flo.Nest {Name : Set} (collection : Name → Collection) where

open import Data.Bool using (Bool; true)
import Data.Bool as Bool
open import Data.Empty using (⊥; ⊥-elim)
open import Data.List using (List; []; _∷_; _++_; [_]; map)
open import Data.List.Relation.Unary.Any using (Any; here)
import Data.List.Relation.Unary.Any as Any
import Data.List.Relation.Unary.Any.Properties as AnyP
open import Data.Maybe using (just; nothing)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst; subst₂)
open import Relation.Nullary using (Dec; yes; no)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection

uip : ∀ {A : Set} {a b : A} (p q : a ≡ b) → p ≡ q
uip refl refl = refl

AllFixed : ∀ {ts} → Vals ts → Set
AllFixed []       = ⊤
AllFixed (c ∷ cs) = Fixedᵛ c × AllFixed cs

all-fixed? : ∀ {ts} (v : Vals ts) → Dec (AllFixed v)
all-fixed? []       = yes tt
all-fixed? (c ∷ cs) with fixedᵛ? c | all-fixed? cs
... | yes p | yes q = yes (p , q)
... | no n  | _     = no λ { (p , _) → n p }
... | _     | no n  = no λ { (_ , q) → n q }

-- Deltas from values.
deltas : ∀ {ts} → Vals ts → Deltas ts
deltas []       = []
deltas (c ∷ cs) = just c ∷ deltas cs

⊕-deltas : ∀ {ts} (v w : Vals ts) → v ⊕ deltas w ≡ v ⊹s w
⊕-deltas []       []       = refl
⊕-deltas (c ∷ cs) (d ∷ ds) = cong (c ⊹ d ∷_) (⊕-deltas cs ds)

-- Extending by what was emitted.
⊹s-∅s-⊕ : ∀ {ts} (v : Vals ts) o → v ⊹s (∅s ⊕ o) ≡ v ⊕ o
⊹s-∅s-⊕ []       []             = refl
⊹s-∅s-⊕ (c ∷ cs) (nothing ∷ os) = cong₂ _∷_ (⊹-identityʳ c) (⊹s-∅s-⊕ cs os)
⊹s-∅s-⊕ (c ∷ cs) (just d ∷ os)  =
  cong₂ _∷_ (trans (sym (⊹-assoc c ∅ᵛ d)) (cong (_⊹ d) (⊹-identityʳ c))) (⊹s-∅s-⊕ cs os)

module Of {I O : Tys} (A : Machine I O) (law : Lawful A)
          (next : Machine.State A → Machine.State A) (ready : Machine.State A → Bool) where
  private
    module A = Machine A
    module L = Lawful law

  -- A body without inputs.
  Blank : Set
  Blank = ∃ λ s → A.inputs s ≡ ∅s

  blank : A.State → Blank
  blank s = A.setinput s ∅s , A.get-set s ∅s

  -- setinput(g, I).
  with-inputs : Blank → Vals I → A.State
  with-inputs (s , _) v = A.setinput s v

  blank-≡ : ∀ {b c : Blank} → proj₁ b ≡ proj₁ c → b ≡ c
  blank-≡ {s , p} {.s , q} refl = cong (s ,_) (uip p q)

  blank-with : ∀ b v → blank (with-inputs b v) ≡ b
  blank-with (s , p) v = blank-≡ (trans (A.set-set s v ∅s) (trans (cong (A.setinput s) (sym p)) (A.set-get s)))

  with-blank : ∀ s → with-inputs (blank s) (A.inputs s) ≡ s
  with-blank s = trans (A.set-set s ∅s _) (A.set-get s)

  data Expr : Set where
    first   : Expr
    running : Blank → Vals O → Expr

  begun : Expr
  begun = running (blank A.initial) ∅s

  In Out : Tys
  In  = nested I ∷ []
  Out = nested O ∷ []

  extending : Deltas O → Deltas Out
  extending o = just (nested (∅s ⊕ o) [] open′) ∷ []

  pushing ending : Deltas Out
  pushing = just (nested ∅s (∅s ∷ []) open′) ∷ []
  ending  = just (nested ∅s [] arrived) ∷ []

  gone : Vals In
  gone = nested ∅s [] passed ∷ []

  data Fires : Expr × Vals In → Expr × Vals In → Deltas Out → Set where
    nest-first : ∀ {x v vs e} →
      Fires (first , nested x (v ∷ vs) e ∷ []) (begun , nested x (v ∷ vs) e ∷ []) pushing
    nest-first-fixed : ∀ {x} →
      Fires (first , nested x [] arrived ∷ []) (begun , gone) ending
    nest-run-graph : ∀ {b os x v vs e s o b′ os′ v′} → A.Step (with-inputs b v) s o →
      b′ ≡ blank s → os′ ≡ os ⊕ o → v′ ≡ A.inputs s →
      Fires (running b os , nested x (v ∷ vs) e ∷ []) (running b′ os′ , nested x (v′ ∷ vs) e ∷ []) (extending o)
    nest-run-step : ∀ {b os x v v′ vs e} → A.Halted (with-inputs b v) → AllFixed os → ready (with-inputs b v) ≡ true →
      Fires (running b os , nested x (v ∷ v′ ∷ vs) e ∷ [])
            (running (blank (next (with-inputs b v))) ∅s , nested x (v′ ∷ vs) e ∷ []) pushing
    nest-run-fixed : ∀ {b os x v} → A.Halted (with-inputs b v) → AllFixed os →
      Fires (running b os , nested x (v ∷ []) arrived ∷ []) (begun , gone) ending

  -- The enabled steps.
  Enabled : Expr × Vals In → Set
  Enabled s = ∃ λ s′ → ∃ λ o → Fires s s′ o

  finishing : ∀ b os x v vs e → A.Halted (with-inputs b v) → List (Enabled (running b os , nested x (v ∷ vs) e ∷ []))
  finishing b os x v vs e h with all-fixed? os
  ... | no _ = []
  finishing b os x v [] arrived h | yes f = [ _ , _ , nest-run-fixed h f ]
  finishing b os x v [] open′   h | yes f = []
  finishing b os x v [] passed  h | yes f = []
  finishing b os x v (v′ ∷ vs) e h | yes f with ready (with-inputs b v) Bool.≟ true
  ... | yes r = [ _ , _ , nest-run-step h f r ]
  ... | no _  = []

  fires : ∀ s → List (Enabled s)
  fires (first , nested x (v ∷ vs) e ∷ [])    = [ _ , _ , nest-first ]
  fires (first , nested x [] arrived ∷ [])    = [ _ , _ , nest-first-fixed ]
  fires (first , nested x [] open′ ∷ [])      = []
  fires (first , nested x [] passed ∷ [])     = []
  fires (running b os , nested x [] e ∷ [])   = []
  fires (running b os , nested x (v ∷ vs) e ∷ []) with A.step? (with-inputs b v)
  ... | yes _ = map (λ { (_ , _ , y) → _ , _ , nest-run-graph y refl refl refl }) (A.steps (with-inputs b v))
  ... | no n  = finishing b os x v vs e (λ y → n (_ , _ , y))

  complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
  complete nest-first       = here (refl , refl)
  complete nest-first-fixed = here (refl , refl)
  complete (nest-run-graph {b} {v = v} y refl refl refl) with A.step? (with-inputs b v)
  ... | yes _ = AnyP.map⁺ (Any.map (λ { (refl , refl) → refl , refl }) (A.complete y))
  ... | no n  = ⊥-elim (n (_ , _ , y))
  complete (nest-run-step {b} {os} {v = v} h f r) with A.step? (with-inputs b v)
  ... | yes (_ , _ , y) = ⊥-elim (h y)
  ... | no _ with all-fixed? os
  ...   | no n = ⊥-elim (n f)
  ...   | yes _ with ready (with-inputs b v) Bool.≟ true
  ...     | yes _ = here (refl , refl)
  ...     | no n  = ⊥-elim (n r)
  complete (nest-run-fixed {b} {os} {v = v} h f) with A.step? (with-inputs b v)
  ... | yes (_ , _ , y) = ⊥-elim (h y)
  ... | no _ with all-fixed? os
  ...   | no n  = ⊥-elim (n f)
  ...   | yes _ = here (refl , refl)

  nest : Operator In Out
  nest = record
    { Expr = Expr ; begin = first ; Fires = Fires ; fires = fires ; complete = complete
    ; rule = λ { nest-first → "nest-first" ; nest-first-fixed → "nest-first-fixed"
               ; (nest-run-graph _ _ _ _) → "nest-run-graph" ; (nest-run-step _ _ _) → "nest-run-step"
               ; (nest-run-fixed _ _) → "nest-run-fixed" } }

  open Machine (Operator.node nest)

  -- It ends: first it begins, then inner streams are left behind, and within one the body ends (docs/deviations.md, 29).
  Falls : State → Set
  Falls = Acc (λ t s → ∃ λ o → Fires s t o)

  dead : ∀ {b os x e} → Falls (running b os , nested x [] e ∷ [])
  dead = acc λ { _ (_ , ()) }

  -- Within one inner stream, given that all is well in the later ones.
  within : ∀ vs s {v b os x e} → (∀ v′ ws → vs ≡ v′ ∷ ws → ∀ {b os x e} → Falls (running b os , nested x (v′ ∷ ws) e ∷ [])) →
    with-inputs b v ≡ s → Acc (λ t s → ∃ λ o → A.Step s t o) s → Falls (running b os , nested x (v ∷ vs) e ∷ [])
  within vs s later refl (acc rs) = acc λ
    { _ (_ , nest-run-graph {s = t} y refl refl refl) → within vs t later (with-blank t) (rs t (_ , y))
    ; _ (_ , nest-run-step {v′ = v′} {vs = ws} _ _ _) → later v′ ws refl
    ; _ (_ , nest-run-fixed _ _) → dead }

  alive : ∀ vs {v b os x e} → Falls (running b os , nested x (v ∷ vs) e ∷ [])
  alive []       = within [] _ (λ _ _ ()) refl (L.terminates _)
  alive (w ∷ ws) = within (w ∷ ws) _ (λ { _ _ refl → alive ws }) refl (L.terminates _)

  terminates : WellFounded (λ t s → ∃ λ o → Fires s t o)
  terminates (running b os , nested x [] e ∷ [])       = dead
  terminates (running b os , nested x (v ∷ vs) e ∷ []) = alive vs
  terminates (first , nested x vs e ∷ []) = acc λ
    { _ (_ , nest-first {vs = ws}) → alive ws ; _ (_ , nest-first-fixed) → dead }

  -- What the body emits extends the newest tuple of the output.
  glue-last : ∀ w ws l (y : Vals O) → glue w (ws ++ [ l ]) y [] ≡ w ∷ (ws ++ [ l ⊹s y ])
  glue-last w []       l y = refl
  glue-last w (u ∷ us) l y = cong (w ∷_) (glue-last u us l y)

  extend-last : ∀ x ws l o → (nested x (ws ++ [ l ]) open′ ∷ []) ⊕ extending o ≡ nested x (ws ++ [ l ⊕ o ]) open′ ∷ []
  extend-last x []       l o = cong (λ z → nested x (z ∷ []) open′ ∷ []) (⊹s-∅s-⊕ l o)
  extend-last x (w ∷ ws) l o = cong (λ z → nested x z open′ ∷ [])
    (trans (glue-last w ws l (∅s ⊕ o)) (cong (λ z → w ∷ (ws ++ [ z ])) (⊹s-∅s-⊕ l o)))

  extend-lasts : ∀ x ws l D → (nested x (ws ++ [ l ]) open′ ∷ []) ⊕* map extending D ≡ nested x (ws ++ [ l ⊕* D ]) open′ ∷ []
  extend-lasts x ws l []      = refl
  extend-lasts x ws l (o ∷ D) = trans (cong (_⊕* map extending D) (extend-last x ws l o)) (extend-lasts x ws (l ⊕ o) D)

  extend-none : ∀ x D → (nested x [] open′ ∷ []) ⊕* map extending D ≡ nested (x ⊕* D) [] open′ ∷ []
  extend-none x []      = refl
  extend-none x (o ∷ D) = trans (cong (λ z → (nested z [] open′ ∷ []) ⊕* map extending D) (⊹s-∅s-⊕ x o)) (extend-none (x ⊕ o) D)

  extend-ended : ∀ x xs e D → Ended e → (nested x xs e ∷ []) ⊕* map extending D ≡ nested x xs e ∷ []
  extend-ended x xs e       []      _       = refl
  extend-ended x xs arrived (o ∷ D) arrived = extend-ended x xs arrived D arrived
  extend-ended x xs passed  (o ∷ D) passed  = extend-ended x xs passed D passed

  last-of : ∀ (v : Vals O) vs → ∃ λ ws → ∃ λ l → v ∷ vs ≡ ws ++ [ l ]
  last-of v []       = [] , v , refl
  last-of v (w ∷ ws) = let us , l , p = last-of w ws in v ∷ us , l , cong (v ∷_) p

  extending-≋ : ∀ {D E} → D ≋ E → map extending D ≋ map extending E
  extending-≋ {D} {E} p = same go
    where
    go : ∀ (w : Vals Out) → w ⊕* map extending D ≡ w ⊕* map extending E
    go (nested x xs arrived ∷ []) = trans (extend-ended x xs arrived D arrived) (sym (extend-ended x xs arrived E arrived))
    go (nested x xs passed ∷ [])  = trans (extend-ended x xs passed D passed) (sym (extend-ended x xs passed E passed))
    go (nested x [] open′ ∷ [])   =
      trans (extend-none x D) (trans (cong (λ z → nested z [] open′ ∷ []) (on p x)) (sym (extend-none x E)))
    go (nested x (v ∷ vs) open′ ∷ []) with last-of v vs
    ... | ws , l , eq = subst (λ z → (nested x z open′ ∷ []) ⊕* map extending D ≡ (nested x z open′ ∷ []) ⊕* map extending E) (sym eq)
      (trans (extend-lasts x ws l D) (trans (cong (λ z → nested x (ws ++ [ z ]) open′ ∷ []) (on p l)) (sym (extend-lasts x ws l E))))

  -- Steps of the body are steps of nest.
  at : A.State → Vals O → Vals I → List (Vals I) → End → State
  at s os x vs e = running (blank s) os , nested x (A.inputs s ∷ vs) e ∷ []

  at-≡ : ∀ b os x v vs e → at (with-inputs b v) os x vs e ≡ (running b os , nested x (v ∷ vs) e ∷ [])
  at-≡ b os x v vs e = cong₂ (λ c w → running c os , nested x (w ∷ vs) e ∷ []) (blank-with b v) (A.get-set (proj₁ b) v)

  body-step : ∀ {s t o} os x vs e → A.Step s t o → Fires (at s os x vs e) (at t (os ⊕ o) x vs e) (extending o)
  body-step {s} {t} {o} os x vs e y = nest-run-graph (subst (λ z → A.Step z t o) (sym (with-blank s)) y) refl refl refl

  body-steps : ∀ {s t D} os x vs e → A.Steps s t D → Steps (at s os x vs e) (at t (os ⊕* D) x vs e) (map extending D)
  body-steps os x vs e A.ε       = ε
  body-steps os x vs e (y A.◅ p) = body-step os x vs e y ◅ body-steps (os ⊕ _) x vs e p

  map-++ : ∀ {X Y : Set} (f : X → Y) xs ys → map f (xs ++ ys) ≡ map f xs ++ map f ys
  map-++ f []       ys = refl
  map-++ f (x ∷ xs) ys = cong (f x ∷_) (map-++ f xs ys)

  -- What holds of the body holds of nest.
  body-join : ∀ {s t D E} os x vs e → A.Join s D t E →
    Join (at s (os ⊕* D) x vs e) (map extending D) (at t (os ⊕* E) x vs e) (map extending E)
  body-join {s} {t} {D} {E} os x vs e (A.joined {u} {D′} {E′} p q eq) = joined
    (body-steps (os ⊕* D) x vs e p)
    (subst (λ z → Steps (at t (os ⊕* E) x vs e) (at u z x vs e) (map extending E′)) meet (body-steps (os ⊕* E) x vs e q))
    (subst₂ _≋_ (map-++ extending D D′) (map-++ extending E E′) (extending-≋ eq))
    where
    meet : (os ⊕* E) ⊕* E′ ≡ (os ⊕* D) ⊕* D′
    meet = trans (sym (⊕*-++ os E E′)) (trans (sym (on eq os)) (⊕*-++ os D D′))

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent nest-first       nest-first       = join-≡ refl ≋-refl
  confluent nest-first-fixed nest-first-fixed = join-≡ refl ≋-refl
  confluent (nest-run-graph {os = os} {x} {vs = vs} {e} y refl refl refl) (nest-run-graph z refl refl refl) =
    body-join os x vs e (L.confluent y z)
  confluent (nest-run-graph y _ _ _) (nest-run-step h _ _)  = ⊥-elim (h y)
  confluent (nest-run-graph y _ _ _) (nest-run-fixed h _)   = ⊥-elim (h y)
  confluent (nest-run-step h _ _)  (nest-run-graph y _ _ _) = ⊥-elim (h y)
  confluent (nest-run-fixed h _)   (nest-run-graph y _ _ _) = ⊥-elim (h y)
  confluent (nest-run-step _ _ _)  (nest-run-step _ _ _)    = join-≡ refl ≋-refl
  confluent (nest-run-fixed _ _)   (nest-run-fixed _ _)     = join-≡ refl ≋-refl

  eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager (nothing ∷ []) x@nest-first                 = joined (x ◅ ε) ε ≋-refl
  eager (nothing ∷ []) x@nest-first-fixed           = joined (x ◅ ε) ε ≋-refl
  eager (nothing ∷ []) x@(nest-run-graph _ _ _ _)   = joined (x ◅ ε) ε ≋-refl
  eager (nothing ∷ []) x@(nest-run-step _ _ _)      = joined (x ◅ ε) ε ≋-refl
  eager (nothing ∷ []) x@(nest-run-fixed _ _)       = joined (x ◅ ε) ε ≋-refl
  -- The first inner stream stays the first one.
  eager (just (nested y ys f) ∷ []) (nest-first {vs = []} {open′})     = joined (nest-first ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-first {vs = _ ∷ _} {open′})  = joined (nest-first ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-first {e = arrived})         = joined (nest-first ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-first {e = passed})          = joined (nest-first ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) nest-first-fixed                   = joined (nest-first-fixed ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-fixed h g)               = joined (nest-run-fixed h g ◅ ε) ε ≋-refl
  -- What arrives goes to a later inner stream, or to none.
  eager (just (nested y ys f) ∷ []) (nest-run-step {vs = []} {open′} h g r)    = joined (nest-run-step h g r ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-step {vs = _ ∷ _} {open′} h g r) = joined (nest-run-step h g r ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-step {e = arrived} h g r)        = joined (nest-run-step h g r ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-step {e = passed} h g r)         = joined (nest-run-step h g r ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-graph {e = arrived} a b c d)     = joined (nest-run-graph a b c d ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-graph {e = passed} a b c d)      = joined (nest-run-graph a b c d ◅ ε) ε ≋-refl
  eager (just (nested y ys f) ∷ []) (nest-run-graph {vs = _ ∷ _} {open′} a b c d) = joined (nest-run-graph a b c d ◅ ε) ε ≋-refl
  -- What arrives goes to the current inner stream: the body is eager.
  eager (just (nested y ys f) ∷ []) (nest-run-graph {b} {os} {x} {v} {[]} {open′} {s} {o} a refl refl refl) =
    subst₂ (λ p q → Join p [] q [ extending o ])
      (trans (cong (λ z → at z os x ys (reach f)) before) (at-≡ b os x (v ⊹s y) ys (reach f)))
      (cong₂ (λ p q → running p (os ⊕ o) , nested x (q ∷ ys) (reach f) ∷ []) (blank-≡ after-blank) after-inputs)
      (body-join os x ys (reach f) (L.eager (deltas y) a))
    where
    before : A.push (with-inputs b v) (deltas y) ≡ with-inputs b (v ⊹s y)
    before = trans (A.set-set (proj₁ b) v _) (cong (A.setinput (proj₁ b))
      (trans (cong (_⊕ deltas y) (A.get-set (proj₁ b) v)) (⊕-deltas v y)))
    after-blank : A.setinput (A.push s (deltas y)) ∅s ≡ A.setinput s ∅s
    after-blank = A.set-set s _ ∅s
    after-inputs : A.inputs (A.push s (deltas y)) ≡ A.inputs s ⊹s y
    after-inputs = trans (A.get-set s _) (⊕-deltas (A.inputs s) y)

  -- Termination, determinism and eager execution of nest (§5.5).
  lawful′ : Lawful (Operator.node nest)
  lawful′ = record { terminates = terminates ; confluent = confluent ; eager = eager }

-- For bodies with types, and their progress, see Flo.NestProgress. This one is for any body and any way to pass state:
-- all theorems but progress hold of it.
nested-graph : ∀ {I O} (g : Graph I O) (open Machine ⟦ g ⟧) → (State → State) → (State → Bool) →
  Graph (nested I ∷ []) (nested O ∷ [])
nested-graph g next ready = op (Of.nest ⟦ g ⟧ (lawful g) next ready)
  record { lawful = Of.lawful′ ⟦ g ⟧ (lawful g) next ready ; _⊢ᴼ_ = λ _ _ → ⊥ ; progress = λ () }
