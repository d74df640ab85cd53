{-# OPTIONS --safe #-}

-- map and filter on bags, sets and z-sets: operators that consume one element with its weight, in any order. They are
-- additive in the weight, so that an element may arrive in parts (docs/deviations.md, 4).

open import Flo.Collections.LVar using (Lattice)
open import Flo.Collections.Weighted using (Weights; Kind; weights)

module Flo.Operators.OnElements (lattice : Lattice) (kind : Kind) where

open import Data.Bool using (Bool; true; false; if_then_else_)
open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_; [_]; map)
open import Data.List.Relation.Unary.Any using (Any; here; there)
import Data.List.Relation.Unary.Any as Any
import Data.List.Relation.Unary.Any.Properties as AnyP
open import Data.Maybe using (just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
import Data.Nat as Nat
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.String using (String) renaming (_++_ to _<>_)
open import Data.Unit using (⊤; tt)
open import Induction.WellFounded using (Acc; acc)
open import Data.Nat.Induction using (<-wellFounded)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans; cong; cong₂; subst)
open import Relation.Nullary using (yes; no)

open import Flo.Collection
open import Flo.Language lattice
open Weights (weights kind)

El : Ty
El = base (elements kind)

suffix : Kind → String
suffix Kind.bag  = "-bag"
suffix Kind.set  = "-set"
suffix Kind.zset = "-zset"

-- `map-zset` is the rule of another operator, which changes weights.
map-rule : Kind → String
map-rule Kind.zset = "project-zset"
map-rule k         = "map" <> suffix k

pattern els m e = val (m , e) ∷ []
pattern one v = v ∷ []

-- What is emitted for an element and its weight; additive in the weight.
record Linear : Set where
  field
    image   : ℕ → W → Map
    none-of : ∀ k → image k 0# ≡ []
    sum     : ∀ k v w → image k (v + w) ≡ image k v ⊎ image k w
    name    : String

drop-! : ∀ m n k j → (∀ i → i ≢ k → m ! i ≡ n ! i) → drop m k ! j ≡ drop n k ! j
drop-! m n k j eq with j Nat.≟ k
... | yes refl = trans (set-same m k 0#) (sym (set-same n k 0#))
... | no ne    = trans (set-other m k j 0# ne) (trans (eq j ne) (sym (set-other n k j 0# ne)))

drop-comm : ∀ m j k → drop (drop m j) k ≡ drop (drop m k) j
drop-comm m j k = ext _ _ λ i → pointwise i
  where
  pointwise : ∀ i → drop (drop m j) k ! i ≡ drop (drop m k) j ! i
  pointwise i with i Nat.≟ k | i Nat.≟ j
  ... | yes refl | yes refl = refl
  ... | yes refl | no ne    = trans (set-same (drop m j) k 0#) (sym (trans (set-other (drop m k) j k 0# ne) (set-same m k 0#)))
  ... | no ne    | yes refl = trans (trans (set-other (drop m j) k j 0# ne) (set-same m j 0#)) (sym (set-same (drop m k) j 0#))
  ... | no nk    | no nj    = trans (trans (set-other (drop m j) k i 0# nk) (set-other m j i 0# nj))
                                (sym (trans (set-other (drop m k) j i 0# nj) (set-other m k i 0# nk)))

module Of (F : Linear) where
  open Linear F

  emitted : ℕ → W → Deltas (El ∷ [])
  emitted k w = just (val (image k w , open′)) ∷ []

  data Fires : ⊤ × Vals (El ∷ []) → ⊤ × Vals (El ∷ []) → Deltas (El ∷ []) → Set where
    element    : ∀ {m n e} k w → m ! k ≡ w → w ≢ 0# → n ≡ drop m k → Fires (tt , els m e) (tt , els n e) (emitted k w)
    terminated : Fires (tt , els [] arrived) (tt , els [] passed) (just (val ([] , arrived)) ∷ [])

  ending : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  ending (tt , els [] arrived) = [ _ , _ , terminated ]
  ending _                     = []

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (tt , els m e) = map (λ { (k , nz) → _ , _ , element k (m ! k) refl nz refl }) (units m) ++ ending (tt , els m e)

  complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
  complete (element {m} k _ refl nz refl) = AnyP.++⁺ˡ (AnyP.map⁺ (Any.map (λ { refl → refl , refl }) (units-complete m nz)))
  complete terminated = here (refl , refl)

  operator′ : Operator (El ∷ []) (El ∷ [])
  operator′ = record
    { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = fires ; complete = complete
    ; rule = λ { (element _ _ _ _ _) → name ; terminated → name <> "-terminated" } }

  open Machine (Operator.node operator′)

  left-to-do : End → ℕ
  left-to-do arrived = 1
  left-to-do _       = 0

  measure : State → ℕ
  measure (_ , els m e) = size m Nat.+ left-to-do e

  falls : ∀ {s t o} → Fires s t o → measure t < measure s
  falls (element {m} {e = e} k _ refl nz refl) = NatP.+-monoˡ-< (left-to-do e) (size-drop m k nz)
  falls terminated = s≤s z≤n

  -- Outputs may be exchanged, joined, and left out if they are empty.
  swap : ∀ j v k w → (emitted j v ∷ emitted k w ∷ []) ≋ (emitted k w ∷ emitted j v ∷ [])
  swap j v k w = same λ
    { (els m open′)   → cong (λ n → els n open′)
        (trans (⊎-assoc m _ _) (trans (cong (m ⊎_) (⊎-comm (image j v) (image k w))) (sym (⊎-assoc m _ _))))
    ; (els m arrived) → refl ; (els m passed) → refl }

  both : ∀ k v w → (emitted k (v + w) ∷ []) ≋ (emitted k v ∷ emitted k w ∷ [])
  both k v w = same λ
    { (els m open′)   → cong (λ n → els n open′) (trans (cong (m ⊎_) (sum k v w)) (sym (⊎-assoc m _ _)))
    ; (els m arrived) → refl ; (els m passed) → refl }

  nothing-of : ∀ k → (emitted k 0# ∷ []) ≋ []
  nothing-of k = same λ
    { (els m open′)   → cong (λ n → els n open′) (trans (cong (m ⊎_) (none-of k)) (⊎-[]ʳ m))
    ; (els m arrived) → refl ; (els m passed) → refl }

  -- Consume one element, if it is there.
  take-one : ∀ m e k → ∃ λ os → Steps (tt , els m e) (tt , els (drop m k) e) os × (os ≋ [ emitted k (m ! k) ])
  take-one m e k with zero? (m ! k)
  ... | yes z = [] , subst (λ n → Steps (tt , els m e) (tt , els n e) []) (sym (drop-absent m k z)) ε ,
                subst (λ w → [] ≋ [ emitted k w ]) (sym z) (≋-sym (nothing-of k))
  ... | no nz = _ , (element k _ refl nz refl ◅ ε) , ≋-refl

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent terminated terminated = join-≡ refl ≋-refl
  confluent terminated (element k _ refl nz _) = ⊥-elim (nz refl)
  confluent (element k _ refl nz _) terminated = ⊥-elim (nz refl)
  confluent (element {m} {e = e} j _ refl nj refl) (element k _ refl nk refl) with j Nat.≟ k
  ... | yes refl = join-≡ refl ≋-refl
  ... | no ne = joined
    (element k (m ! k) (set-other m j k 0# λ p → ne (sym p)) nk refl ◅ ε)
    (element j (m ! j) (set-other m k j 0# ne) nj (drop-comm m j k) ◅ ε)
    (swap j (m ! j) k (m ! k))

  eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager (one nothing)        terminated = joined (terminated ◅ ε) ε ≋-refl
  eager (one (just (val _))) terminated = joined (terminated ◅ ε) ε ≋-refl
  eager (one nothing) x@(element _ _ _ _ _) = joined (x ◅ ε) ε ≋-refl
  eager (one (just (val _))) (element {e = arrived} k w p nz q) = joined (element k w p nz q ◅ ε) ε ≋-refl
  eager (one (just (val _))) (element {e = passed} k w p nz q)  = joined (element k w p nz q ◅ ε) ε ≋-refl
  eager (one (just (val (d , f)))) (element {m} {e = open′} k _ refl nz refl)
    with take-one (m ⊎ d) (reach f) k | take-one (drop m k ⊎ d) (reach f) k
  ... | os , p , o≋ | ps , q , p≋ = joined p
    (subst (λ n → Steps (tt , els (drop m k ⊎ d) (reach f)) (tt , els n (reach f)) ps) meet q)
    (≋-trans o≋ (≋-trans (subst (λ w → [ emitted k ((m ⊎ d) ! k) ] ≋ [ emitted k w ]) (⊎-! m d k) ≋-refl)
      (≋-trans (both k (m ! k) (d ! k))
        (≋-++ {a = [ emitted k (m ! k) ]} ≋-refl
          (≋-sym (≋-trans p≋ (subst (λ w → [ emitted k ((drop m k ⊎ d) ! k) ] ≋ [ emitted k w ]) later ≋-refl)))))))
    where
    later : (drop m k ⊎ d) ! k ≡ d ! k
    later = trans (⊎-! (drop m k) d k) (trans (cong (_+ (d ! k)) (set-same m k 0#)) (+-zeroˡ (d ! k)))
    meet : drop (drop m k ⊎ d) k ≡ drop (m ⊎ d) k
    meet = ext _ _ λ j → drop-! (drop m k ⊎ d) (m ⊎ d) k j λ i ne →
      trans (⊎-! (drop m k) d i) (trans (cong (_+ (d ! i)) (set-other m k i 0# ne)) (sym (⊎-! m d i)))

  lawful′ : Lawful (Operator.node operator′)
  lawful′ = record
    { terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t}) ; confluent = confluent ; eager = eager }

  -- Progress: whatever the order, the input is consumed, and only then the end is passed on.
  consume-all : ∀ m e n → ∃ λ r → ((tt , els m e) , els n open′) ⟶* ((tt , els [] e) , els r open′)
  consume-all m e n = go m n (<-wellFounded (size m))
    where
    go : ∀ m n → Acc _<_ (size m) → ∃ λ r → ((tt , els m e) , els n open′) ⟶* ((tt , els [] e) , els r open′)
    go m n (acc rs) with units m | (λ {k} → units-complete m {k})
    ... | (k , nz) ∷ _ | _ = let r , p = go (drop m k) (n ⊎ image k (m ! k)) (rs _ (size-drop m k nz)) in
                             r , (step (element k (m ! k) refl nz refl) Rw.◅ p)
    ... | [] | all with empty? m
    ...   | yes refl = n , Rw.ε
    ...   | no ne    = ⊥-elim (ne (ext m [] λ k → zero-at k))
      where
      zero-at : ∀ k → m ! k ≡ 0#
      zero-at k with zero? (m ! k)
      ... | yes z = z
      ... | no nz with all nz
      ...   | ()

  data Typed : Flags (El ∷ []) → Flags (El ∷ []) → Set where
    map-type : ∀ {f} → Typed (f ∷ []) (f ∷ [])

  same-steps : ∀ {m r n} e → ((tt , els m open′) , els n open′) ⟶* ((tt , els [] open′) , els r open′) →
    ((tt , els m e) , els n open′) ⟶* ((tt , els [] e) , els r open′)
  same-steps e Rw.ε = Rw.ε
  same-steps e (step (element k w p nz q) Rw.◅ r) = step (element k w p nz q) Rw.◅ same-steps e r

  open-stuck : ∀ {w} → Stuck ((tt , els [] open′) , w)
  open-stuck (step (element _ _ refl nz _)) = nz refl

  passed-stuck : ∀ {w} → Stuck ((tt , els [] passed) , w)
  passed-stuck (step (element _ _ refl nz _)) = nz refl

  progress′ : ∀ {f} → Progress (Operator.node operator′) (f ∷ []) (f ∷ [])
  progress′ {f} = progress-by (Operator.node operator′) lawful′ known
    where
    close-up : ∀ {m r} → ((tt , els m open′) , els [] open′) ⟶* ((tt , els [] open′) , els r open′) →
      ((tt , els m arrived) , els [] open′) ⟶* ((tt , els [] passed) , els r arrived)
    close-up {m} {r} p = subst (λ z → ((tt , els m arrived) , els [] open′) ⟶* ((tt , els [] passed) , els z arrived))
      (⊎-[]ʳ r) (same-steps arrived p Rw.◅◅ (step terminated Rw.◅ Rw.ε))
    known : ∀ v → Complete (f ∷ []) v → ∃ λ s → ∃ λ w → (((tt , v) , ∅s) ⟶* (s , w)) × Stuck (s , w) ×
      Complete (f ∷ []) w × Maximal (Operator.node operator′) v w
    known (els m open′) ((_ , b) ∷ []) =
      let r , p = consume-all m open′ [] in
      _ , _ , p , open-stuck , ((open′ , b′) ∷ []) , _ , close-up p , passed-stuck
      where
      b′ : f ≡ B → Ended open′
      b′ eq with b eq
      ... | ()
    known (els m arrived) c =
      let r , p = consume-all m open′ [] in
      _ , _ , close-up p , passed-stuck , ((arrived , λ _ → arrived) ∷ []) , _ , close-up p , passed-stuck
    known (els m passed) ((() , _) ∷ [])

  contract : Contract operator′
  contract = record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { map-type → progress′ } }

only-zero : ∀ k → only k 0# ≡ []
only-zero k = drop-absent [] k refl

only-sum : ∀ k v w → only k (v + w) ≡ only k v ⊎ only k w
only-sum k v w = ext _ _ λ j → trans (pointwise j) (sym (⊎-! (only k v) (only k w) j))
  where
  pointwise : ∀ j → only k (v + w) ! j ≡ (only k v ! j) + (only k w ! j)
  pointwise j with j Nat.≟ k
  ... | yes refl = trans (set-same [] k (v + w)) (sym (cong₂ _+_ (set-same [] k v) (set-same [] k w)))
  ... | no ne    = trans (set-other [] k j (v + w) ne)
                     (sym (trans (cong₂ _+_ (set-other [] k j v ne) (set-other [] k j w ne)) (+-zeroˡ 0#)))

mapping : (ℕ → ℕ) → Linear
mapping f = record { image = λ k w → only (f k) w ; none-of = λ k → only-zero (f k) ; sum = λ k → only-sum (f k) ; name = map-rule kind }

filtering : (ℕ → Bool) → Linear
filtering keep = record { image = pick ; none-of = none-of′ ; sum = sum′ ; name = "filter" <> suffix kind }
  where
  pick : ℕ → W → Map
  pick k w = if keep k then only k w else []
  none-of′ : ∀ k → pick k 0# ≡ []
  none-of′ k with keep k
  ... | true  = only-zero k
  ... | false = refl
  sum′ : ∀ k v w → pick k (v + w) ≡ pick k v ⊎ pick k w
  sum′ k v w with keep k
  ... | true  = only-sum k v w
  ... | false = sym (⊎-[]ˡ [])

map′ : (ℕ → ℕ) → Graph (El ∷ []) (El ∷ [])
map′ f = op (Of.operator′ (mapping f)) (Of.contract (mapping f))

filter′ : (ℕ → Bool) → Graph (El ∷ []) (El ∷ [])
filter′ keep = op (Of.operator′ (filtering keep)) (Of.contract (filtering keep))
