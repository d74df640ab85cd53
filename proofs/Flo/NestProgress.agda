{-# OPTIONS --safe #-}

-- Types and streaming progress of `nest` (§5.3, §5.5). All inner streams that are bounded have ended: where the newest one
-- is open, the end of the outer stream would end it, and the body might emit more (docs/deviations.md, 13).

open import Flo.Collection

module Flo.NestProgress {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; _++_; [_])
open import Data.List.Properties using (++-assoc)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Data.Bool using (true)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst; subst₂)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection using (Operator; Contract; Graph; op; ⟦_⟧; lawful; ⊢_∶_↪_; operator)
open import Flo.Nest collection
open import Flo.Defer collection hiding (State)
open import Flo.Preservation collection as P using ()
open import Flo.Erasure collection using (raw; typed)

-- ∀i. Oᵢ = (Cᵢ, B).
AllBounded : ∀ {ts} → Flags ts → Set
AllBounded []       = ⊤
AllBounded (f ∷ fs) = (outer f ≡ B) × AllBounded fs

complete-fixed : ∀ {ts} {fs : Flags ts} {v} → AllBounded fs → Complete fs v → AllFixed v
complete-fixed _        []                          = tt
complete-fixed (b , bs) (_∷_ {f = f} {c = c} p ps) = fixed-if f c p b , complete-fixed bs ps

fixes-fixed : ∀ {ts} (v : Vals ts) → AllFixed (fixes v)
fixes-fixed []       = tt
fixes-fixed (c ∷ cs) = fixᵛ-fixes c , fixes-fixed cs

glue-∅ : ∀ {ts} (v : Vals ts) vs ys → glue v vs ∅s ys ≡ v ∷ (vs ++ ys)
glue-∅ v []       ys = cong (_∷ ys) (⊹s-identityʳ v)
glue-∅ v (w ∷ ws) ys = cong (v ∷_) (glue-∅ w ws ys)

module Nest {D : Context} {I O : Tys} {b : Body I O} {i : Flags I} {o : Flags O} (d : D ⨾ D ⊢ b ∶ i ↪ o) where
  private
    module A = Machine ⟦ graph b ⟧
    module TA = Theory ⟦ graph b ⟧ (lawful (graph b))

  open Of ⟦ graph b ⟧ (lawful (graph b)) (next-body d) (is-ready d) public
  open Machine (Operator.node nest)

  out : List (Vals O) → End → Vals Out
  out ws e = nested ∅s ws e ∷ []

  pushed : ∀ ws w → out (ws ++ [ w ]) open′ ⊕ pushing ≡ out ((ws ++ [ w ]) ++ [ ∅s ]) open′
  pushed []       w = cong (λ z → out z open′) (glue-∅ w [] [ ∅s ])
  pushed (u ∷ us) w = cong (λ z → out z open′) (glue-∅ u (us ++ [ w ]) [ ∅s ])

  ended : ∀ ws w → out (ws ++ [ w ]) open′ ⊕ ending ≡ out (ws ++ [ w ]) arrived
  ended []       w = cong (λ z → out z arrived) (glue-identity w [])
  ended (u ∷ us) w = cong (λ z → out z arrived) (glue-identity u (us ++ [ w ]))

  -- A run of the body is one of nest.
  run-body : ∀ β v vs x e ws {s w} → (A.setinput (proj₁ β) v , ∅s) A.⟶* (s , w) →
    ((running β ∅s , nested x (v ∷ vs) e ∷ []) , out (ws ++ [ ∅s ]) open′) ⟶* (at s w x vs e , out (ws ++ [ w ]) open′)
  run-body β v vs x e ws {s} {w} r =
    let es , p , eq = A.unlift r in
    subst₂ (λ c z → (c , out (ws ++ [ ∅s ]) open′) ⟶* z) (at-≡ β ∅s x v vs e)
      (cong₂ _,_ (cong (λ z → at s z x vs e) eq) (trans (extend-lasts ∅s ws ∅s es) (cong (λ z → out (ws ++ [ z ]) open′) eq)))
      (lift (body-steps ∅s x vs e p) (out (ws ++ [ ∅s ]) open′))

  still : ∀ {s} → A.Halted s → A.Halted (with-inputs (blank s) (A.inputs s))
  still {s} h y = h (subst (λ z → A.Step z _ _) (with-blank s) y)

  move-on : ∀ {s w x v vs e} → A.Halted s → AllFixed w → is-ready d s ≡ true →
    Fires (at s w x (v ∷ vs) e) (running (blank (next-body d s)) ∅s , nested x (v ∷ vs) e ∷ []) pushing
  move-on {s} {w} {x} {v} {vs} {e} h f r =
    subst (λ z → Fires (at s w x (v ∷ vs) e) (running (blank (next-body d z)) ∅s , nested x (v ∷ vs) e ∷ []) pushing) (with-blank s)
      (nest-run-step (still h) f (subst (λ z → is-ready d z ≡ true) (sym (with-blank s)) r))

  waits : ∀ {s w x z} → A.Halted s → Stuck (at s w x [] open′ , z)
  waits h (step (nest-run-graph y _ _ _)) = still h y

  over : ∀ {z} → Stuck ((begun , gone) , z)
  over (step ())

  run-last : ∀ β v x ws {s w} → (A.setinput (proj₁ β) v , ∅s) A.⟶* (s , w) → A.Stuck (s , w) → AllFixed w →
    ((running β ∅s , nested x (v ∷ []) arrived ∷ []) , out (ws ++ [ ∅s ]) open′) ⟶* ((begun , gone) , out (ws ++ [ w ]) arrived)
  run-last β v x ws {s} {w} r st f = run-body β v [] x arrived ws r Rw.◅◅
    subst (λ z → (at s w x [] arrived , out (ws ++ [ w ]) open′) ⟶* ((begun , gone) , z)) (ended ws w)
      (step (nest-run-fixed (still (A.stuck-halted st)) f) Rw.◅ Rw.ε)

  run-and-move : ∀ β v v′ vs x e ws {s w c} → (A.setinput (proj₁ β) v , ∅s) A.⟶* (s , w) → A.Stuck (s , w) → AllFixed w →
    is-ready d s ≡ true →
    ((running (blank (next-body d s)) ∅s , nested x (v′ ∷ vs) e ∷ []) , out ((ws ++ [ w ]) ++ [ ∅s ]) open′) ⟶* c →
    ((running β ∅s , nested x (v ∷ v′ ∷ vs) e ∷ []) , out (ws ++ [ ∅s ]) open′) ⟶* c
  run-and-move β v v′ vs x e ws {s} {w} {c} r st f rd q = run-body β v (v′ ∷ vs) x e ws r Rw.◅◅
    (step (move-on (A.stuck-halted st) f rd) Rw.◅
      subst (λ z → ((running (blank (next-body d s)) ∅s , nested x (v′ ∷ vs) e ∷ []) , z) ⟶* c) (sym (pushed ws w)) q)

  blank-same : ∀ {s} → A.inputs s ≡ ∅s → proj₁ (blank s) ≡ s
  blank-same {s} p = trans (cong (A.setinput s) (sym p)) (A.set-get s)

  blank-starts : ∀ {s t} → Starts d s t → Starts d (proj₁ (blank s)) (proj₁ (blank t))
  blank-starts st = let p , q = starts-empty d st in subst₂ (Starts d) (sym (blank-same p)) (sym (blank-same q)) st

  -- From an inner stream on, without and with the ends of all streams: what the second run emits is what the first one
  -- emits, with the ends.
  rounds : AllBounded o → ∀ vs v β β′ x e ws ws′ → Starts d (proj₁ β) (proj₁ β′) → Complete i v → CompleteAll i vs → Unpassed e →
    ∃ λ us → CompleteAll o us ×
      (∃ λ s → (((running β ∅s , nested x (v ∷ vs) e ∷ []) , out (ws ++ [ ∅s ]) open′) ⟶* (s , out (ws ++ us) e)) ×
               Stuck (s , out (ws ++ us) e)) ×
      (∃ λ t → (((running β′ ∅s , nested x (fixes v ∷ fix-each vs) arrived ∷ []) , out (ws′ ++ [ ∅s ]) open′) ⟶*
                (t , out (ws′ ++ fix-each us) arrived)) × Stuck (t , out (ws′ ++ fix-each us) arrived))
  rounds bs vs v β β′ x e ws ws′ start cv cvs un with TA.run-to-stuck (A.setinput (proj₁ β) v , ∅s)
  ... | (s , w) , r , st with body-progress d start v cv r st
  rounds bs [] v β β′ x e ws ws′ start cv [] un | (s , w) , r , st | cw , t , r′ , st′ , _ =
    [ w ] , (cw ∷ []) , first-run un , _ , run-last β′ (fixes v) x ws′ r′ st′ (fixes-fixed w) , over
    where
    first-run : ∀ {e} → Unpassed e →
      ∃ λ s → (((running β ∅s , nested x (v ∷ []) e ∷ []) , out (ws ++ [ ∅s ]) open′) ⟶* (s , out (ws ++ [ w ]) e)) × Stuck (s , out (ws ++ [ w ]) e)
    first-run open′   = _ , run-body β v [] x open′ ws r , waits (A.stuck-halted st)
    first-run arrived = _ , run-last β v x ws r st (complete-fixed bs cw) , over
  rounds bs (v′ ∷ vs) v β β′ x e ws ws′ start cv (cv′ ∷ cvs) un | (s , w) , r , st | cw , t , r′ , st′ , ends
    with rounds bs vs v′ (blank (next-body d s)) (blank (next-body d t)) x e (ws ++ [ w ]) (ws′ ++ [ fixes w ])
           (blank-starts (starts-next d ends)) cv′ cvs un
  ... | us , cus , (s₁ , p , sp) , (t₁ , q , sq) rewrite ++-assoc ws [ w ] us | ++-assoc ws′ [ fixes w ] (fix-each us) =
    w ∷ us , (cw ∷ cus) ,
    (s₁ , run-and-move β v v′ vs x e ws r st (complete-fixed bs cw) (ready d (Deferred.fixed kept)) p , sp) ,
    (t₁ , run-and-move β′ (fixes v) (fixes v′) (fix-each vs) x arrived ws′ r′ st′ (fixes-fixed w) (ready d (Deferred.fixed′ kept)) q , sq)
    where kept = collected d ends

  first-ended : ∀ x → ((first , nested x [] arrived ∷ []) , ∅s) ⟶* ((begun , gone) , out [] arrived)
  first-ended x = subst (λ z → ((first , nested x [] arrived ∷ []) , ∅s) ⟶* ((begun , gone) , nested z [] arrived ∷ []))
    (⊹s-identityʳ ∅s) (step nest-first-fixed Rw.◅ Rw.ε)

  first-round : ∀ {x v vs e c} → ((begun , nested x (v ∷ vs) e ∷ []) , out [ ∅s ] open′) ⟶* c →
    ((first , nested x (v ∷ vs) e ∷ []) , ∅s) ⟶* c
  first-round {x} {v} {vs} {e} {c} q = step nest-first Rw.◅
    subst (λ z → ((begun , nested x (v ∷ vs) e ∷ []) , nested z [ ∅s ] open′ ∷ []) ⟶* c) (sym (⊹s-identityʳ ∅s)) q

  -- Streaming progress of nest.
  nest-progress : AllBounded o → ∀ {f} → Progress (Operator.node nest) ((f , i) ∷ []) ((f , o) ∷ [])
  nest-progress bs {f} = progress-by (Operator.node nest) lawful′ known
    where
    known : ∀ v → Complete ((f , i) ∷ []) v → ∃ λ s → ∃ λ w → (((first , v) , ∅s) ⟶* (s , w)) × Stuck (s , w) ×
      Complete ((f , o) ∷ []) w × Maximal (Operator.node nest) v w
    known (nested x [] open′ ∷ []) (((_ , open′) , c , []) ∷ []) =
      _ , _ , Rw.ε , (λ { (step ()) }) , (((freshes-∅ , open′) , c , []) ∷ []) , _ , first-ended x , over
    known (nested x [] arrived ∷ []) (((_ , arrived) , c , []) ∷ []) =
      _ , _ , first-ended x , over , (((freshes-∅ , arrived) , c , []) ∷ []) , _ , first-ended x , over
    known (nested x (v ∷ vs) open′ ∷ []) (((_ , open′) , c , cv ∷ cvs) ∷ [])
      with rounds bs vs v (blank A.initial) (blank A.initial) x open′ [] [] (blank-starts (starts-initial d)) cv cvs open′
    ... | us , cus , (_ , p , sp) , (_ , q , sq) =
      _ , _ , first-round p , sp , (((freshes-∅ , open′) , c , cus) ∷ []) , _ , first-round q , sq
    known (nested x (v ∷ vs) arrived ∷ []) (((_ , arrived) , c , cv ∷ cvs) ∷ [])
      with rounds bs vs v (blank A.initial) (blank A.initial) x arrived [] [] (blank-starts (starts-initial d)) cv cvs arrived
    ... | us , cus , (_ , p , sp) , (_ , q , sq) =
      _ , _ , first-round p , sp , (((freshes-∅ , arrived) , c , cus) ∷ []) , _ , first-round q , sq

  -- Each key is written once, and all outputs of the body are bounded.
  data Typed : Flags In → Flags Out → Set where
    typed′ : ∀ {f} → Distinct D → AllBounded o → Typed ((f , i) ∷ []) ((f , o) ∷ [])

  contract : Contract nest
  contract = record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { (typed′ _ bs) → nest-progress bs } }

  nest-with-defers : Graph (nested I ∷ []) (nested O ∷ [])
  nest-with-defers = op nest contract

-- D; D ⊢ g : I ↪ (O₁, …), all of them bounded.
nest-type : ∀ {D I O} {b : Body I O} {i o x} (d : D ⨾ D ⊢ b ∶ i ↪ o) → Distinct D → AllBounded o →
  ⊢ Nest.nest-with-defers d ∶ ((x , i) ∷ []) ↪ ((x , o) ∷ [])
nest-type d distinct bs = operator (Nest.typed′ distinct bs)

-- nest(g, g_o): in every state, the running graph has the type of the body. So has the one of the next inner stream.
nest-with-copy-type : ∀ {D I O} {b : Body I O} {i o} → D ⨾ D ⊢ b ∶ i ↪ o → ∀ s → P.⊢ raw (graph b) s ∶ I ▸ i ↪ O ▸ o
nest-with-copy-type d = typed (as-graph d)
