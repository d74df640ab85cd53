{-# OPTIONS --safe #-}

-- L^O and L^G: operators with their contract, graphs of them (figure 4), their types (figure 5), and the theorems.

open import Flo.Collection

module Flo.Graph {Name : Set} (collection : Name → Collection) where

open import Data.List using (List; []; _∷_; _++_)
open import Data.List.Relation.Unary.Any using (Any)
open import Data.Maybe using (just)
open import Data.Nat using (ℕ; _<_)
open import Data.Nat.Induction using (<-wellFounded)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.String using (String)
open import Induction.WellFounded using (Acc; acc; WellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; trans; cong; cong₂; subst)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Composition collection
open import Flo.Progress collection

-- An operator: its expressions e^O, which hold its state, and →δ.
record Operator (I O : Tys) : Set₁ where
  field
    Expr     : Set
    begin    : Expr
    Fires    : Expr × Vals I → Expr × Vals I → Deltas O → Set
    fires    : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
    rule     : ∀ {s s′ o} → Fires s s′ o → String
    complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)

  -- {S}[op], with the rule `operator`.
  node : Machine I O
  node = record
    { State = Expr × Vals I ; initial = begin , ∅s ; inputs = proj₂ ; setinput = λ { (e , _) v → e , v }
    ; Step = Fires ; steps = fires ; complete = complete
    ; path = λ x → "operator" ∷ rule x ∷ []
    ; get-set = λ _ _ → refl ; set-get = λ _ → refl ; set-set = λ _ _ _ → refl ; initial-empty = refl }

-- The contract: a measure that falls, confluence, eager execution, a typing rule, and progress where it holds.
record Contract {I O : Tys} (op : Operator I O) : Set₁ where
  open Operator op
  field
    lawful   : Lawful node
    _⊢ᴼ_     : Flags I → Flags O → Set
    progress : ∀ {fi fo} → fi ⊢ᴼ fo → Progress node fi fo

-- A measure with natural numbers that falls at every step (condition on L^O, §3.4).
falling : ∀ {I O} (M : Machine I O) (open Machine M) (measure : State → ℕ) →
  (∀ {s t o} → Step s t o → measure t < measure s) → WellFounded (λ t s → ∃ λ o → Step s t o)
falling M measure falls s = go s (<-wellFounded (measure s))
  where
  go : ∀ s → Acc _<_ (measure s) → Acc (λ t s → ∃ λ o → Machine.Step M s t o) s
  go s (acc rs) = acc λ { t (_ , x) → go t (rs (measure t) (falls x)) }

infixl 4 _⨟_
infixl 6 _∥_

-- e ::= e | e , e ; e , {S}[op].
data Graph : Tys → Tys → Set₁ where
  _⨟_ : ∀ {I M O} → Graph I M → Graph M O → Graph I O
  _∥_ : ∀ {I O I′ O′} → Graph I O → Graph I′ O′ → Graph (I ++ I′) (O ++ O′)
  op  : ∀ {I O} (o : Operator I O) → Contract o → Graph I O

⟦_⟧ : ∀ {I O} → Graph I O → Machine I O
⟦ g ⨟ h ⟧  = Sequence.machine ⟦ g ⟧ ⟦ h ⟧
⟦ g ∥ h ⟧  = Parallel.machine ⟦ g ⟧ ⟦ h ⟧
⟦ op o _ ⟧ = Operator.node o

-- Lemmas 4.2 and 4.3: every graph has the laws of its operators.
lawful : ∀ {I O} (g : Graph I O) → Lawful ⟦ g ⟧
lawful (g ⨟ h)  = Sequence.lawful ⟦ g ⟧ ⟦ h ⟧ (lawful g) (lawful h)
lawful (g ∥ h)  = Parallel.lawful ⟦ g ⟧ ⟦ h ⟧ (lawful g) (lawful h)
lawful (op _ c) = Contract.lawful c

-- ⊢ e : I ↪ O (figure 5).
data ⊢_∶_↪_ : ∀ {I O} → Graph I O → Flags I → Flags O → Set₁ where
  sequence : ∀ {I M O} {g : Graph I M} {h : Graph M O} {i m m′ o} →
    ⊢ g ∶ i ↪ m → ⊢ h ∶ m′ ↪ o → m ≤* m′ → ⊢ (g ⨟ h) ∶ i ↪ o
  par : ∀ {I O I′ O′} {g : Graph I O} {h : Graph I′ O′} {i o i′ o′} →
    ⊢ g ∶ i ↪ o → ⊢ h ∶ i′ ↪ o′ → ⊢ (g ∥ h) ∶ (i ·ᶠ i′) ↪ (o ·ᶠ o′)
  operator : ∀ {I O} {p : Operator I O} {c : Contract p} {i o} →
    Contract._⊢ᴼ_ c i o → ⊢ (op p c) ∶ i ↪ o

-- Lemma 4.4, for one input that is there at once.
progress : ∀ {I O} {g : Graph I O} {i o} → ⊢ g ∶ i ↪ o → Progress ⟦ g ⟧ i o
progress {g = g ⨟ h}  (sequence p q le) = sequence-progress ⟦ g ⟧ ⟦ h ⟧ (lawful g) (lawful h) (progress p) le (progress q)
progress {g = g ∥ h}  (par p q)         = par-progress ⟦ g ⟧ ⟦ h ⟧ (lawful g) (lawful h) (progress p) (progress q)
progress {g = op _ c} (operator t)      = Contract.progress c t

module Theorems {I O : Tys} (g : Graph I O) where
  open Machine ⟦ g ⟧ public
  open Theory ⟦ g ⟧ (lawful g) public

  -- A program begins with empty buffers and outputs.
  start : Config
  start = initial , ∅s

  -- What has arrived in a run.
  received : List (Deltas I) → Vals I
  received ds = ∅s ⊕* ds

  private
    push*-received : ∀ ds → push* initial ds ≡ setinput initial (received ds)
    push*-received ds = cong (λ v → setinput initial (v ⊕* ds)) initial-empty

  -- Data that is complete can arrive, also with the ends of all its streams.
  ends-can-arrive : ∀ {i v} → Complete i v → ∃ λ es → received es ≡ fixes v
  ends-can-arrive c = let d , e = whole (complete-fixes c) in d ∷ [] , e
    where
    whole : ∀ {ts} {fs : Flags ts} {v} → Complete fs v → ∃ λ d → ∅s ⊕ d ≡ v
    whole []                        = [] , refl
    whole (_∷_ {f = f} {c = c} p ps) = let d , e = whole ps in just c ∷ d , cong₂ _∷_ (⊹-identityˡ {d = c} (fresh f c p)) e

  -- Streaming progress: in every run of a well-typed program that has got the ends of its bounded inputs and is stuck,
  -- the bounded outputs are fixed, and every stuck run that gets the same data and the end of all inputs differs only by
  -- the end of the outputs.
  streaming-progress : ∀ {i o} → ⊢ g ∶ i ↪ o → ∀ {ds s w} → Run start ds (s , w) → Stuck (s , w) →
    Complete i (received ds) →
    Complete o w × (∀ {es t x} → Run start es (t , x) → Stuck (t , x) → received es ≡ fixes (received ds) → x ≡ fixes w)
  streaming-progress ⊢g {ds} {s} {w} r st cd
    with progress ⊢g (received ds) cd (subst (λ z → (z , ∅s) ⟶* (s , w)) (push*-received ds) (at-once r st)) st
  ... | cw , t , p , st′ = cw , λ {es} {u} {x} r′ su e →
    cong proj₂ (unique (subst (λ z → (z , ∅s) ⟶* (u , x))
      (trans (push*-received es) (cong (setinput initial) e)) (at-once r′ su)) p su st′)
