{-# OPTIONS --safe #-}

-- The union of two sets, and of two bags: it passes on what arrives on either side, and ends when both sides have.

open import Flo.Collections.LVar using (Lattice)
open import Flo.Collections.Weighted using (Weights; Kind; weights)

module Flo.Operators.Union (lattice : Lattice) (kind : Kind) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_; [_]; map)
open import Data.List.Relation.Unary.Any using (Any; here)
import Data.List.Relation.Unary.Any as Any
import Data.List.Relation.Unary.Any.Properties as AnyP
open import Data.Maybe using (Maybe; just; nothing)
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
open import Flo.Operators.OnElements lattice kind using (El; suffix; drop-!; drop-comm; only-zero; only-sum)

pattern els m e = val (m , e)
pattern two l r = l ∷ r ∷ []

-- Only ends are left, and at least one of them was not passed on (shapes.all_ending).
data AllEnding : End → End → Set where
  both     : AllEnding arrived arrived
  on-left  : AllEnding arrived passed
  on-right : AllEnding passed arrived

emitted : ℕ → W → Deltas (El ∷ [])
emitted k w = just (els (only k w) open′) ∷ []

data Fires : ⊤ × Vals (El ∷ El ∷ []) → ⊤ × Vals (El ∷ El ∷ []) → Deltas (El ∷ []) → Set where
  union-left  : ∀ {m n e r} k w → m ! k ≡ w → w ≢ 0# → n ≡ drop m k →
    Fires (tt , two (els m e) r) (tt , two (els n e) r) (emitted k w)
  union-right : ∀ {m n e l} k w → m ! k ≡ w → w ≢ 0# → n ≡ drop m k →
    Fires (tt , two l (els m e)) (tt , two l (els n e)) (emitted k w)
  union-terminated : ∀ {e f} → AllEnding e f →
    Fires (tt , two (els [] e) (els [] f)) (tt , two (els [] passed) (els [] passed)) (just (els [] arrived) ∷ [])

ending : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
ending (tt , two (els [] arrived) (els [] arrived)) = [ _ , _ , union-terminated both ]
ending (tt , two (els [] arrived) (els [] passed))  = [ _ , _ , union-terminated on-left ]
ending (tt , two (els [] passed) (els [] arrived))  = [ _ , _ , union-terminated on-right ]
ending _ = []

fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
fires (tt , two (els m e) (els n f)) =
  map (λ { (k , nz) → _ , _ , union-left k (m ! k) refl nz refl }) (units m) ++
  map (λ { (k , nz) → _ , _ , union-right k (n ! k) refl nz refl }) (units n) ++
  ending (tt , two (els m e) (els n f))

complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
complete (union-left {m} {r = els _ _} k _ refl nz refl) =
  AnyP.++⁺ˡ (AnyP.map⁺ (Any.map (λ { refl → refl , refl }) (units-complete m nz)))
complete (union-right {m} {l = els n _} k _ refl nz refl) =
  AnyP.++⁺ʳ (map _ (units n)) (AnyP.++⁺ˡ (AnyP.map⁺ (Any.map (λ { refl → refl , refl }) (units-complete m nz))))
complete (union-terminated both)  = here (refl , refl)
complete (union-terminated on-left)  = here (refl , refl)
complete (union-terminated on-right) = here (refl , refl)

operator′ : Operator (El ∷ El ∷ []) (El ∷ [])
operator′ = record
  { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = fires ; complete = complete
  ; rule = λ { (union-left _ _ _ _ _) → "union" <> suffix kind <> "-left"
             ; (union-right _ _ _ _ _) → "union" <> suffix kind <> "-right"
             ; (union-terminated _) → "union" <> suffix kind <> "-terminated" } }

open Machine (Operator.node operator′)

to-do : End → ℕ
to-do arrived = 1
to-do _       = 0

amount : Val El → ℕ
amount (els m e) = size m Nat.+ to-do e

measure : State → ℕ
measure (_ , two l r) = amount l Nat.+ amount r

falls : ∀ {s t o} → Fires s t o → measure t < measure s
falls (union-left {m} {e = e} {r} k _ refl nz refl) = NatP.+-monoˡ-< (amount r) (NatP.+-monoˡ-< (to-do e) (size-drop m k nz))
falls (union-right {m} {e = e} {l} k _ refl nz refl) = NatP.+-monoʳ-< (amount l) (NatP.+-monoˡ-< (to-do e) (size-drop m k nz))
falls (union-terminated both)  = s≤s z≤n
falls (union-terminated on-left)  = s≤s z≤n
falls (union-terminated on-right) = s≤s z≤n

exchange : ∀ j v k w → (emitted j v ∷ emitted k w ∷ []) ≋ (emitted k w ∷ emitted j v ∷ [])
exchange j v k w = same λ
  { (els m open′ ∷ [])   → cong (λ n → els n open′ ∷ [])
      (trans (⊎-assoc m _ _) (trans (cong (m ⊎_) (⊎-comm (only j v) (only k w))) (sym (⊎-assoc m _ _))))
  ; (els m arrived ∷ []) → refl ; (els m passed ∷ []) → refl }

sums : ∀ k v w → (emitted k (v + w) ∷ []) ≋ (emitted k v ∷ emitted k w ∷ [])
sums k v w = same λ
  { (els m open′ ∷ [])   → cong (λ n → els n open′ ∷ []) (trans (cong (m ⊎_) (only-sum k v w)) (sym (⊎-assoc m _ _)))
  ; (els m arrived ∷ []) → refl ; (els m passed ∷ []) → refl }

nothing-of : ∀ k → (emitted k 0# ∷ []) ≋ []
nothing-of k = same λ
  { (els m open′ ∷ [])   → cong (λ n → els n open′ ∷ []) (trans (cong (m ⊎_) (only-zero k)) (⊎-[]ʳ m))
  ; (els m arrived ∷ []) → refl ; (els m passed ∷ []) → refl }

take-left : ∀ m e k r → ∃ λ os → Steps (tt , two (els m e) r) (tt , two (els (drop m k) e) r) os × (os ≋ [ emitted k (m ! k) ])
take-left m e k r with zero? (m ! k)
... | yes z = [] , subst (λ n → Steps (tt , two (els m e) r) (tt , two (els n e) r) []) (sym (drop-absent m k z)) ε ,
              subst (λ w → [] ≋ [ emitted k w ]) (sym z) (≋-sym (nothing-of k))
... | no nz = _ , (union-left k _ refl nz refl ◅ ε) , ≋-refl

take-right : ∀ m e k l → ∃ λ os → Steps (tt , two l (els m e)) (tt , two l (els (drop m k) e)) os × (os ≋ [ emitted k (m ! k) ])
take-right m e k l with zero? (m ! k)
... | yes z = [] , subst (λ n → Steps (tt , two l (els m e)) (tt , two l (els n e)) []) (sym (drop-absent m k z)) ε ,
              subst (λ w → [] ≋ [ emitted k w ]) (sym z) (≋-sym (nothing-of k))
... | no nz = _ , (union-right k _ refl nz refl ◅ ε) , ≋-refl

confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
confluent (union-left {m} j _ refl nj refl) (union-left k _ refl nk refl) with j Nat.≟ k
... | yes refl = join-≡ refl ≋-refl
... | no ne = joined
  (union-left k (m ! k) (set-other m j k 0# λ p → ne (sym p)) nk refl ◅ ε)
  (union-left j (m ! j) (set-other m k j 0# ne) nj (drop-comm m j k) ◅ ε) (exchange j (m ! j) k (m ! k))
confluent (union-right {m} j _ refl nj refl) (union-right k _ refl nk refl) with j Nat.≟ k
... | yes refl = join-≡ refl ≋-refl
... | no ne = joined
  (union-right k (m ! k) (set-other m j k 0# λ p → ne (sym p)) nk refl ◅ ε)
  (union-right j (m ! j) (set-other m k j 0# ne) nj (drop-comm m j k) ◅ ε) (exchange j (m ! j) k (m ! k))
confluent (union-left j v p nj q) (union-right k w p′ nk q′) =
  joined (union-right k w p′ nk q′ ◅ ε) (union-left j v p nj q ◅ ε) (exchange j v k w)
confluent (union-right j v p nj q) (union-left k w p′ nk q′) =
  joined (union-left k w p′ nk q′ ◅ ε) (union-right j v p nj q ◅ ε) (exchange j v k w)
confluent (union-terminated _) (union-terminated _) = join-≡ refl ≋-refl
confluent (union-terminated _) (union-left k _ refl nz _)  = ⊥-elim (nz refl)
confluent (union-terminated _) (union-right k _ refl nz _) = ⊥-elim (nz refl)
confluent (union-left k _ refl nz _)  (union-terminated _) = ⊥-elim (nz refl)
confluent (union-right k _ refl nz _) (union-terminated _) = ⊥-elim (nz refl)

-- What an element and a delta that has more of it come to.
module _ (m d : Map) (k : ℕ) where
  later : (drop m k ⊎ d) ! k ≡ d ! k
  later = trans (⊎-! (drop m k) d k) (trans (cong (_+ (d ! k)) (set-same m k 0#)) (+-zeroˡ (d ! k)))

  meet : drop (drop m k ⊎ d) k ≡ drop (m ⊎ d) k
  meet = ext _ _ λ j → drop-! (drop m k ⊎ d) (m ⊎ d) k j λ i ne →
    trans (⊎-! (drop m k) d i) (trans (cong (_+ (d ! i)) (set-other m k i 0# ne)) (sym (⊎-! m d i)))

  agree : ∀ {os ps} → os ≋ [ emitted k ((m ⊎ d) ! k) ] → ps ≋ [ emitted k ((drop m k ⊎ d) ! k) ] →
    os ≋ (emitted k (m ! k) ∷ ps)
  agree {os} {ps} o≋ p≋ = ≋-trans o≋ (≋-trans (subst (λ w → [ emitted k ((m ⊎ d) ! k) ] ≋ [ emitted k w ]) (⊎-! m d k) ≋-refl)
    (≋-trans (sums k (m ! k) (d ! k)) (≋-++ {a = [ emitted k (m ! k) ]} ≋-refl
      (≋-sym (≋-trans p≋ (subst (λ w → [ emitted k ((drop m k ⊎ d) ! k) ] ≋ [ emitted k w ]) later ≋-refl))))))

eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
eager (nothing ∷ b ∷ []) (union-left k w p nz q) = joined (union-left k w p nz q ◅ ε) ε ≋-refl
eager (just (val _) ∷ b ∷ []) (union-left {e = arrived} k w p nz q) = joined (union-left k w p nz q ◅ ε) ε ≋-refl
eager (just (val _) ∷ b ∷ []) (union-left {e = passed} k w p nz q)  = joined (union-left k w p nz q ◅ ε) ε ≋-refl
eager (just (val (d , f)) ∷ b ∷ []) (union-left {m} {e = open′} {r} k _ refl nz refl)
  with take-left (m ⊎ d) (reach f) k (add r b) | take-left (drop m k ⊎ d) (reach f) k (add r b)
... | os , p , o≋ | ps , q , p≋ = joined p
  (subst (λ n → Steps (tt , two (els (drop m k ⊎ d) (reach f)) (add r b)) (tt , two (els n (reach f)) (add r b)) ps) (meet m d k) q)
  (agree m d k o≋ p≋)
eager (a ∷ nothing ∷ []) (union-right k w p nz q) = joined (union-right k w p nz q ◅ ε) ε ≋-refl
eager (a ∷ just (val _) ∷ []) (union-right {e = arrived} k w p nz q) = joined (union-right k w p nz q ◅ ε) ε ≋-refl
eager (a ∷ just (val _) ∷ []) (union-right {e = passed} k w p nz q)  = joined (union-right k w p nz q ◅ ε) ε ≋-refl
eager (a ∷ just (val (d , f)) ∷ []) (union-right {m} {e = open′} {l} k _ refl nz refl)
  with take-right (m ⊎ d) (reach f) k (add l a) | take-right (drop m k ⊎ d) (reach f) k (add l a)
... | os , p , o≋ | ps , q , p≋ = joined p
  (subst (λ n → Steps (tt , two (add l a) (els (drop m k ⊎ d) (reach f))) (tt , two (add l a) (els n (reach f))) ps) (meet m d k) q)
  (agree m d k o≋ p≋)
eager (a ∷ b ∷ []) (union-terminated {e} {f} x) = joined
  (subst (λ v → Steps (tt , v) (tt , gone) [ just (els [] arrived) ∷ [] ]) (sym (cong₂ (λ l r → two l r) (absorbed a (ended₁ x)) (absorbed b (ended₂ x))))
    (union-terminated x ◅ ε))
  (subst (λ v → Steps (tt , v) (tt , gone) []) (sym (cong₂ (λ l r → two l r) (absorbed a passed) (absorbed b passed))) ε) ≋-refl
  where
  gone : Vals (El ∷ El ∷ [])
  gone = two (els [] passed) (els [] passed)
  absorbed : ∀ {m : Map} {e} (a : Maybe (Val El)) → Ended e → add {El} (els m e) a ≡ els m e
  absorbed nothing _ = refl
  absorbed (just (val _)) arrived = refl
  absorbed (just (val _)) passed  = refl
  ended₁ : ∀ {e f} → AllEnding e f → Ended e
  ended₁ both = arrived
  ended₁ on-left = arrived
  ended₁ on-right = passed
  ended₂ : ∀ {e f} → AllEnding e f → Ended f
  ended₂ both = arrived
  ended₂ on-left = passed
  ended₂ on-right = arrived

lawful′ : Lawful (Operator.node operator′)
lawful′ = record
  { terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t}) ; confluent = confluent ; eager = eager }

-- The content of both sides is consumed whatever the ends are.
consume-all : ∀ m n o → ∃ λ r → ∀ e f →
  ((tt , two (els m e) (els n f)) , els o open′ ∷ []) ⟶* ((tt , two (els [] e) (els [] f)) , els r open′ ∷ [])
consume-all m n o = go m n o (<-wellFounded (size m Nat.+ size n))
  where
  none-left : ∀ m → (∀ {k} → m ! k ≢ 0# → Any (λ (u : ∃ λ k → m ! k ≢ 0#) → proj₁ u ≡ k) []) → m ≡ []
  none-left m all = ext m [] zero-at
    where
    zero-at : ∀ k → m ! k ≡ 0#
    zero-at k with zero? (m ! k)
    ... | yes z = z
    ... | no nz with all nz
    ...   | ()
  go : ∀ m n o → Acc _<_ (size m Nat.+ size n) → ∃ λ r → ∀ e f →
    ((tt , two (els m e) (els n f)) , els o open′ ∷ []) ⟶* ((tt , two (els [] e) (els [] f)) , els r open′ ∷ [])
  go m n o (acc rs) with units m | (λ {k} → units-complete m {k}) | units n | (λ {k} → units-complete n {k})
  ... | (k , nz) ∷ _ | _ | _ | _ =
    let r , p = go (drop m k) n (o ⊎ only k (m ! k)) (rs _ (NatP.+-monoˡ-< (size n) (size-drop m k nz))) in
    r , λ e f → step (union-left k (m ! k) refl nz refl) Rw.◅ p e f
  ... | [] | _ | (k , nz) ∷ _ | _ =
    let r , p = go m (drop n k) (o ⊎ only k (n ! k)) (rs _ (NatP.+-monoʳ-< (size m) (size-drop n k nz))) in
    r , λ e f → step (union-right k (n ! k) refl nz refl) Rw.◅ p e f
  ... | [] | all | [] | all′ with none-left m all | none-left n all′
  ...   | refl | refl = o , λ e f → Rw.ε

data Typed : Flags (El ∷ El ∷ []) → Flags (El ∷ []) → Set where
  union-type : ∀ {f} → Typed (f ∷ f ∷ []) (f ∷ [])

data NotBoth : End → End → Set where
  first  : ∀ {f} → NotBoth open′ f
  second : NotBoth arrived open′

waits : ∀ {e f w} → NotBoth e f → Stuck ((tt , two (els [] e) (els [] f)) , w)
waits nb     (step (union-left _ _ refl nz _))  = nz refl
waits nb     (step (union-right _ _ refl nz _)) = nz refl
waits first  (step (union-terminated ()))
waits second (step (union-terminated ()))

over : ∀ {w} → Stuck ((tt , two (els [] passed) (els [] passed)) , w)
over (step (union-left _ _ refl nz _))  = nz refl
over (step (union-right _ _ refl nz _)) = nz refl
over (step (union-terminated ()))

progress′ : ∀ {f} → Progress (Operator.node operator′) (f ∷ f ∷ []) (f ∷ [])
progress′ {f} = progress-by (Operator.node operator′) lawful′ known
  where
  not-open : ∀ {A : Set} → Ended open′ → A
  not-open ()
  finished : ∀ m n r → (∀ e f → ((tt , two (els m e) (els n f)) , els [] open′ ∷ []) ⟶* ((tt , two (els [] e) (els [] f)) , els r open′ ∷ [])) →
    ((tt , two (els m arrived) (els n arrived)) , ∅s) ⟶* ((tt , two (els [] passed) (els [] passed)) , els r arrived ∷ [])
  finished m n r p = subst (λ z → ((tt , two (els m arrived) (els n arrived)) , ∅s) ⟶* ((tt , two (els [] passed) (els [] passed)) , els z arrived ∷ []))
    (⊎-[]ʳ r) (p arrived arrived Rw.◅◅ (step (union-terminated both) Rw.◅ Rw.ε))
  known : ∀ v → Complete (f ∷ f ∷ []) v → ∃ λ s → ∃ λ w → (((tt , v) , ∅s) ⟶* (s , w)) × Stuck (s , w) ×
    Complete (f ∷ []) w × Maximal (Operator.node operator′) v w
  known (two (els m arrived) (els n arrived)) c =
    let r , p = consume-all m n [] in
    _ , _ , finished m n r p , over , ((arrived , λ _ → arrived) ∷ []) , _ , finished m n r p , over
  known (two (els m open′) (els n open′)) ((_ , b) ∷ _) =
    let r , p = consume-all m n [] in
    _ , _ , p open′ open′ , waits first , ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , finished m n r p , over
  known (two (els m open′) (els n arrived)) ((_ , b) ∷ _) =
    let r , p = consume-all m n [] in
    _ , _ , p open′ arrived , waits first , ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , finished m n r p , over
  known (two (els m arrived) (els n open′)) (_ ∷ (_ , b) ∷ _) =
    let r , p = consume-all m n [] in
    _ , _ , p arrived open′ , waits second , ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , finished m n r p , over
  known (two (els m passed) _) ((() , _) ∷ _)
  known (two (els m open′) (els n passed)) (_ ∷ (() , _) ∷ _)
  known (two (els m arrived) (els n passed)) (_ ∷ (() , _) ∷ _)

union′ : Graph (El ∷ El ∷ []) (El ∷ [])
union′ = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { union-type → progress′ } }
