{-# OPTIONS --safe #-}

-- map, filter, scan and fold on sequences: operators that consume one element after the other
-- (flo.values.operators.shapes.Unary). `map` and `fold` consume only elements, never the end (docs/deviations.md, 33).

open import Flo.Collections.LVar using (Lattice)

module Flo.Operators.OnSequences (lattice : Lattice) where

open import Data.Bool using (Bool; if_then_else_)
open import Data.List using (List; []; _∷_; _++_; [_]; length)
open import Data.List.Properties using (++-assoc; ++-identityʳ)
open import Data.List.Relation.Unary.Any using (Any; here)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; _+_; _<_)
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _×_; _,_)
open import Data.String using (String)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; subst)

open import Flo.Collection
open import Flo.Language lattice

Sq : Ty
Sq = base sequence

-- What happens to an element and at the end.
record Unary : Set₁ where
  field
    Expr             : Set
    begin            : Expr
    consume          : Expr → ℕ → Expr
    emit             : Expr → ℕ → Maybe (List ℕ)
    finish           : Expr → List ℕ
    element-rule     : String
    terminator-rule  : String

pattern at v = v ∷ []
pattern seq xs e = val (xs , e) ∷ []

module Of (U : Unary) where
  open Unary U

  emitted : Maybe (List ℕ) → Deltas (Sq ∷ [])
  emitted nothing   = nothing ∷ []
  emitted (just ys) = just (val (ys , open′)) ∷ []

  data Fires : Expr × Vals (Sq ∷ []) → Expr × Vals (Sq ∷ []) → Deltas (Sq ∷ []) → Set where
    element    : ∀ {a x xs e} → Fires (a , seq (x ∷ xs) e) (consume a x , seq xs e) (emitted (emit a x))
    terminator : ∀ {a} → Fires (a , seq [] arrived) (a , seq [] passed) (just (val (finish a , arrived)) ∷ [])

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (a , seq (x ∷ xs) e)  = [ _ , _ , element ]
  fires (a , seq [] open′)    = []
  fires (a , seq [] arrived)  = [ _ , _ , terminator ]
  fires (a , seq [] passed)   = []

  operator′ : Operator (Sq ∷ []) (Sq ∷ [])
  operator′ = record
    { Expr = Expr ; begin = begin ; Fires = Fires ; fires = fires
    ; rule = λ { element → element-rule ; terminator → terminator-rule }
    ; complete = λ { element → here (refl , refl) ; terminator → here (refl , refl) } }

  open Machine (Operator.node operator′)

  left-to-do : End → ℕ
  left-to-do arrived = 1
  left-to-do _       = 0

  measure : State → ℕ
  measure (_ , seq xs e) = length xs + left-to-do e

  falls : ∀ {s t o} → Fires s t o → measure t < measure s
  falls element    = NatP.≤-refl
  falls terminator = NatP.≤-refl

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent element    element    = join-≡ refl ≋-refl
  confluent terminator terminator = join-≡ refl ≋-refl

  eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager (at nothing)                      element    = joined (element ◅ ε) ε ≋-refl
  eager (at (just (val _))) (element {e = open′})    = joined (element ◅ ε) ε ≋-refl
  eager (at (just (val _))) (element {e = arrived})  = joined (element ◅ ε) ε ≋-refl
  eager (at (just (val _))) (element {e = passed})   = joined (element ◅ ε) ε ≋-refl
  eager (at nothing)                      terminator = joined (terminator ◅ ε) ε ≋-refl
  eager (at (just (val _)))               terminator = joined (terminator ◅ ε) ε ≋-refl

  lawful′ : Lawful (Operator.node operator′)
  lawful′ = record { terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t}) ; confluent = confluent ; eager = eager }

  -- The whole input, element by element.
  final : Expr → List ℕ → Expr
  final a []       = a
  final a (x ∷ xs) = final (consume a x) xs

  content : Maybe (List ℕ) → List ℕ
  content nothing   = []
  content (just ys) = ys

  result : Expr → List ℕ → List ℕ
  result a []       = []
  result a (x ∷ xs) = content (emit a x) ++ result (consume a x) xs

  emitted-⊕ : ∀ ys m → seq ys open′ ⊕ emitted m ≡ seq (ys ++ content m) open′
  emitted-⊕ ys nothing  = cong (λ zs → seq zs open′) (sym (++-identityʳ ys))
  emitted-⊕ ys (just _) = refl

  consume-all : ∀ a xs e ys → ((a , seq xs e) , seq ys open′) ⟶* ((final a xs , seq [] e) , seq (ys ++ result a xs) open′)
  consume-all a []       e ys = subst (λ zs → ((a , seq [] e) , seq ys open′) ⟶* ((a , seq [] e) , seq zs open′))
    (sym (++-identityʳ ys)) Rw.ε
  consume-all a (x ∷ xs) e ys = step element Rw.◅
    subst (λ o → ((consume a x , seq xs e) , o) ⟶* ((final a (x ∷ xs) , seq [] e) , seq (ys ++ result a (x ∷ xs)) open′))
      (sym (emitted-⊕ ys (emit a x)))
      (subst (λ zs → ((consume a x , seq xs e) , seq (ys ++ content (emit a x)) open′) ⟶*
                     ((final a (x ∷ xs) , seq [] e) , seq zs open′))
        (++-assoc ys (content (emit a x)) _) (consume-all (consume a x) xs e (ys ++ content (emit a x))))

  run-ended : ∀ a xs → ((a , seq xs arrived) , ∅s) ⟶*
    ((final a xs , seq [] passed) , seq (result a xs ++ finish (final a xs)) arrived)
  run-ended a xs = consume-all a xs arrived [] Rw.◅◅ (step terminator Rw.◅ Rw.ε)

  -- An operator that emits nothing at the end makes progress on every stream.
  streaming : (∀ a → finish a ≡ []) → ∀ f → Progress (Operator.node operator′) (f ∷ []) (f ∷ [])
  streaming silent f = progress-by _ lawful′ λ
    { (seq xs open′)   ((n , b) ∷ []) → _ , _ , consume-all begin xs open′ [] , (λ { (step ()) }) ,
        ((open′ , λ { refl → case-B (b refl) }) ∷ []) , _ , ended xs , (λ { (step ()) })
    ; (seq xs arrived) ((n , b) ∷ []) → _ , _ , ended xs , (λ { (step ()) }) ,
        ((arrived , λ _ → arrived) ∷ []) , _ , ended xs , (λ { (step ()) })
    ; (seq xs passed)  ((() , b) ∷ []) }
    where
    case-B : ∀ {A : Set} → Ended open′ → A
    case-B ()
    ended : ∀ xs → ((begin , seq xs arrived) , ∅s) ⟶* ((final begin xs , seq [] passed) , seq (result begin xs) arrived)
    ended xs = subst (λ zs → ((begin , seq xs arrived) , ∅s) ⟶* ((final begin xs , seq [] passed) , seq zs arrived))
      (trans (cong (result begin xs ++_) (silent _)) (++-identityʳ _)) (run-ended begin xs)

  -- Any operator makes progress on a bounded stream.
  blocking : Progress (Operator.node operator′) (B ∷ []) (B ∷ [])
  blocking = progress-by _ lawful′ λ
    { (seq xs open′)   ((n , b) ∷ []) → case-B (b refl)
    ; (seq xs arrived) ((n , b) ∷ []) → _ , _ , run-ended begin xs , (λ { (step ()) }) ,
        ((arrived , λ _ → arrived) ∷ []) , _ , run-ended begin xs , (λ { (step ()) })
    ; (seq xs passed)  ((() , b) ∷ []) }
    where
    case-B : ∀ {A : Set} → Ended open′ → A
    case-B ()

-- The typing rules: (S, X) ↪ (S, X) of map, filter and scan, and (S, B) ↪ (S, B) of fold.
data Same : Flags (Sq ∷ []) → Flags (Sq ∷ []) → Set where
  map-type : ∀ {f} → Same (f ∷ []) (f ∷ [])

data Bounded : Flags (Sq ∷ []) → Flags (Sq ∷ []) → Set where
  fold-type : Bounded (B ∷ []) (B ∷ [])

map-unary : (ℕ → ℕ) → Unary
map-unary f = record
  { Expr = ⊤ ; begin = tt ; consume = λ _ _ → tt ; emit = λ _ x → just [ f x ] ; finish = λ _ → []
  ; element-rule = "map" ; terminator-rule = "map-terminator" }

filter-unary : (ℕ → Bool) → Unary
filter-unary keep = record
  { Expr = ⊤ ; begin = tt ; consume = λ _ _ → tt ; emit = λ _ x → just (if keep x then [ x ] else [])
  ; finish = λ _ → [] ; element-rule = "filter" ; terminator-rule = "filter-terminator" }

scan-unary : ℕ → (ℕ → ℕ → ℕ) → Unary
scan-unary acc f = record
  { Expr = ℕ ; begin = acc ; consume = f ; emit = λ a x → just [ f a x ] ; finish = λ _ → []
  ; element-rule = "scan" ; terminator-rule = "scan-terminator" }

fold-unary : ℕ → (ℕ → ℕ → ℕ) → Unary
fold-unary acc f = record
  { Expr = ℕ ; begin = acc ; consume = f ; emit = λ _ _ → nothing ; finish = λ a → [ a ]
  ; element-rule = "fold" ; terminator-rule = "fold-terminator" }

map′ : (ℕ → ℕ) → Graph (Sq ∷ []) (Sq ∷ [])
map′ f = op (operator′) record { lawful = lawful′ ; _⊢ᴼ_ = Same ; progress = λ { map-type → streaming (λ _ → refl) _ } }
  where open Of (map-unary f)

filter′ : (ℕ → Bool) → Graph (Sq ∷ []) (Sq ∷ [])
filter′ keep = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Same ; progress = λ { map-type → streaming (λ _ → refl) _ } }
  where open Of (filter-unary keep)

scan′ : ℕ → (ℕ → ℕ → ℕ) → Graph (Sq ∷ []) (Sq ∷ [])
scan′ acc f = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Same ; progress = λ { map-type → streaming (λ _ → refl) _ } }
  where open Of (scan-unary acc f)

-- fold waits for the end, so its type asks for a bounded input.
fold′ : ℕ → (ℕ → ℕ → ℕ) → Graph (Sq ∷ []) (Sq ∷ [])
fold′ acc f = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Bounded ; progress = λ { fold-type → blocking } }
  where open Of (fold-unary acc f)
