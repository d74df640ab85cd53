{-# OPTIONS --safe #-}

-- The join of z-sets (figure 21) with Flo's amendments: it steps only if something has arrived (docs/deviations.md, 1),
-- and when one side has ended it drops what it kept of the other (34).

open import Flo.Collections.LVar using (Lattice)

module Flo.Operators.Join (lattice : Lattice) where

open import Data.Empty using (⊥-elim)
import Data.Integer as Int
import Data.Integer.Properties as IntP
open import Data.List using (List; []; _∷_; _++_; [_])
open import Data.List.Relation.Unary.Any using (Any; here; there)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
import Data.Nat as Nat
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; trans; cong; cong₂; subst)
open import Relation.Nullary using (Dec; yes; no; ¬_)

open import Flo.Collection
open import Flo.Collections.Weighted using (Weights; Kind; weights)
open import Flo.Language lattice
open Weights (weights Kind.zset)

Z : Ty
Z = base (elements Kind.zset)

pattern z m e = val (m , e)
pattern two l r = l ∷ r ∷ []

infixl 7 _⋈_

-- (M₁ ⋈ M₂)[k] = M₁[k] · M₂[k].
_⋈_ : Map → Map → Map
_⋈_ = combine Int._*_

⋈-! : ∀ m n k → (m ⋈ n) ! k ≡ m ! k Int.* n ! k
⋈-! = combine-! Int._*_ refl

-- M₁ ⋈ M₂′ + M₁′ ⋈ M₂ + M₁′ ⋈ M₂′: what a step emits.
change : Map → Map → Map → Map → Map
change M N m n = M ⋈ n ⊎ (m ⋈ N ⊎ m ⋈ n)

change-! : ∀ M N m n k → change M N m n ! k ≡ M ! k Int.* n ! k Int.+ (m ! k Int.* N ! k Int.+ m ! k Int.* n ! k)
change-! M N m n k = trans (⊎-! (M ⋈ n) _ k) (cong₂ Int._+_ (⋈-! M n k)
  (trans (⊎-! (m ⋈ N) (m ⋈ n) k) (cong₂ Int._+_ (⋈-! m N k) (⋈-! m n k))))

-- The step adds what the product of the whole grows by.
product : ∀ A E a b → (A Int.+ a) Int.* (E Int.+ b) ≡ A Int.* E Int.+ (A Int.* b Int.+ (a Int.* E Int.+ a Int.* b))
product A E a b = trans (IntP.*-distribʳ-+ (E Int.+ b) A a)
  (trans (cong₂ Int._+_ (IntP.*-distribˡ-+ A E b) (IntP.*-distribˡ-+ a E b)) (IntP.+-assoc (A Int.* E) (A Int.* b) _))

cancel : ∀ c x y → c Int.+ x ≡ c Int.+ y → x ≡ y
cancel c x y p = trans (sym (back x)) (trans (cong (λ w → Int.- c Int.+ w) p) (back y))
  where
  back : ∀ x → Int.- c Int.+ (c Int.+ x) ≡ x
  back x = trans (sym (IntP.+-assoc (Int.- c) c x)) (trans (cong (λ w → w Int.+ x) (IntP.+-inverseˡ c)) (IntP.+-identityˡ x))

-- Bilinearity: what arrives in two parts changes the output as the whole does.
change-sum : ∀ M N m n d e → change M N (m ⊎ d) (n ⊎ e) ≡ change M N m n ⊎ change (M ⊎ m) (N ⊎ n) d e
change-sum M N m n d e = ext _ _ λ k → trans (change-! M N (m ⊎ d) (n ⊎ e) k) (trans (cong₂ (λ x y → M ! k Int.* y Int.+ (x Int.* N ! k Int.+ x Int.* y)) (⊎-! m d k) (⊎-! n e k))
  (trans (pointwise (M ! k) (N ! k) (m ! k) (n ! k) (d ! k) (e ! k))
  (sym (trans (⊎-! (change M N m n) _ k) (cong₂ Int._+_ (change-! M N m n k)
    (trans (change-! (M ⊎ m) (N ⊎ n) d e k) (cong₂ (λ x y → x Int.* e ! k Int.+ (d ! k Int.* y Int.+ d ! k Int.* e ! k)) (⊎-! M m k) (⊎-! N n k))))))))
  where
  δ : Int.ℤ → Int.ℤ → Int.ℤ → Int.ℤ → Int.ℤ
  δ A E a b = A Int.* b Int.+ (a Int.* E Int.+ a Int.* b)
  pointwise : ∀ A E a b c d → δ A E (a Int.+ c) (b Int.+ d) ≡ δ A E a b Int.+ δ (A Int.+ a) (E Int.+ b) c d
  pointwise A E a b c d = cancel (A Int.* E) _ _ (trans (sym (product A E (a Int.+ c) (b Int.+ d)))
    (trans (cong₂ Int._*_ (sym (IntP.+-assoc A a c)) (sym (IntP.+-assoc E b d)))
      (trans (product (A Int.+ a) (E Int.+ b) c d)
        (trans (cong (λ w → w Int.+ δ (A Int.+ a) (E Int.+ b) c d) (product A E a b)) (IntP.+-assoc (A Int.* E) (δ A E a b) _)))))

⋈-sum : ∀ M n e → M ⋈ (n ⊎ e) ≡ M ⋈ n ⊎ M ⋈ e
⋈-sum M n e = ext _ _ λ k → trans (⋈-! M (n ⊎ e) k) (trans (cong (λ w → M ! k Int.* w) (⊎-! n e k))
  (trans (IntP.*-distribˡ-+ (M ! k) (n ! k) (e ! k)) (sym (trans (⊎-! (M ⋈ n) (M ⋈ e) k) (cong₂ Int._+_ (⋈-! M n k) (⋈-! M e k))))))

sum-⋈ : ∀ N m d → (m ⊎ d) ⋈ N ≡ m ⋈ N ⊎ d ⋈ N
sum-⋈ N m d = ext _ _ λ k → trans (⋈-! (m ⊎ d) N k) (trans (cong (λ w → w Int.* N ! k) (⊎-! m d k))
  (trans (IntP.*-distribʳ-+ (N ! k) (m ! k) (d ! k)) (sym (trans (⊎-! (m ⋈ N) (d ⋈ N) k) (cong₂ Int._+_ (⋈-! m N k) (⋈-! d N k))))))

⋈-[]ʳ : ∀ M → M ⋈ [] ≡ []
⋈-[]ʳ M = ext _ _ λ k → trans (⋈-! M [] k) (IntP.*-zeroʳ (M ! k))

⋈-[]ˡ : ∀ M → [] ⋈ M ≡ []
⋈-[]ˡ M = ext _ _ λ k → trans (⋈-! [] M k) (IntP.*-zeroˡ (M ! k))

change-left : ∀ M N m → change M N m [] ≡ m ⋈ N
change-left M N m = trans (cong₂ (λ a b → a ⊎ (m ⋈ N ⊎ b)) (⋈-[]ʳ M) (⋈-[]ʳ m)) (trans (⊎-[]ˡ _) (⊎-[]ʳ _))

change-right : ∀ M N n → change M N [] n ≡ M ⋈ n
change-right M N n = trans (cong₂ (λ a b → M ⋈ n ⊎ (a ⊎ b)) (⋈-[]ˡ N) (⋈-[]ˡ n)) (trans (cong (λ w → M ⋈ n ⊎ w) (⊎-[]ˡ [])) (⊎-[]ʳ _))

-- The z-sets that were seen; when a side has ended, only that side's is kept.
data Seen : Set where
  live       : Map → Map → Seen
  left-over  : Map → Seen
  right-over : Map → Seen
  over       : Seen

gone : Val Z
gone = z [] passed

out : Map → Deltas (Z ∷ [])
out m = just (z m open′) ∷ []

end′ : Deltas (Z ∷ [])
end′ = just (z [] arrived) ∷ []

data Fires : Seen × Vals (Z ∷ Z ∷ []) → Seen × Vals (Z ∷ Z ∷ []) → Deltas (Z ∷ []) → Set where
  join-zset : ∀ {M N m n e f} → ¬ (m ≡ [] × n ≡ []) →
    Fires (live M N , two (z m e) (z n f)) (live (M ⊎ m) (N ⊎ n) , two (z [] e) (z [] f)) (out (change M N m n))
  join-zset-left-ended : ∀ {M N f} → f ≢ arrived →
    Fires (live M N , two (z [] arrived) (z [] f)) (left-over M , two gone (z [] f)) (nothing ∷ [])
  join-zset-right-ended : ∀ {M N e} → e ≢ arrived →
    Fires (live M N , two (z [] e) (z [] arrived)) (right-over N , two (z [] e) gone) (nothing ∷ [])
  join-zset-terminated : ∀ {M N} →
    Fires (live M N , two (z [] arrived) (z [] arrived)) (over , two gone gone) end′
  -- After the end of one side the same two rules go on with the other.
  join-zset-right : ∀ {M l n f} → n ≢ [] →
    Fires (left-over M , two l (z n f)) (left-over M , two l (z [] f)) (out (M ⋈ n))
  join-zset-right-terminated : ∀ {M l} →
    Fires (left-over M , two l (z [] arrived)) (over , two gone gone) end′
  join-zset-left : ∀ {N r m e} → m ≢ [] →
    Fires (right-over N , two (z m e) r) (right-over N , two (z [] e) r) (out (m ⋈ N))
  join-zset-left-terminated : ∀ {N r} →
    Fires (right-over N , two (z [] arrived) r) (over , two gone gone) end′

nothing-there : ∀ m n → Dec ((m ≡ []) × (n ≡ []))
nothing-there m n with empty? m | empty? n
... | yes p | yes q = yes (p , q)
... | no p  | _     = no λ { (q , _) → p q }
... | _     | no p  = no λ { (_ , q) → p q }

ends : ∀ M N e f → List (∃ λ s′ → ∃ λ o → Fires (live M N , two (z [] e) (z [] f)) s′ o)
ends M N arrived arrived = [ _ , _ , join-zset-terminated ]
ends M N arrived open′   = [ _ , _ , join-zset-left-ended (λ ()) ]
ends M N arrived passed  = [ _ , _ , join-zset-left-ended (λ ()) ]
ends M N open′   arrived = [ _ , _ , join-zset-right-ended (λ ()) ]
ends M N passed  arrived = [ _ , _ , join-zset-right-ended (λ ()) ]
ends M N open′   open′   = []
ends M N open′   passed  = []
ends M N passed  open′   = []
ends M N passed  passed  = []

fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
fires (over , _) = []
fires (live M N , two (z m e) (z n f)) with nothing-there m n
... | no some = [ _ , _ , join-zset some ]
... | yes (refl , refl) = ends M N e f
fires (left-over M , two l (z n f)) with empty? n
... | no some = [ _ , _ , join-zset-right some ]
fires (left-over M , two l (z [] arrived)) | yes refl = [ _ , _ , join-zset-right-terminated ]
fires (left-over M , two l (z [] open′))   | yes refl = []
fires (left-over M , two l (z [] passed))  | yes refl = []
fires (right-over N , two (z m e) r) with empty? m
... | no some = [ _ , _ , join-zset-left some ]
fires (right-over N , two (z [] arrived) r) | yes refl = [ _ , _ , join-zset-left-terminated ]
fires (right-over N , two (z [] open′) r)   | yes refl = []
fires (right-over N , two (z [] passed) r)  | yes refl = []

complete : ∀ {s s′ o} → Fires s s′ o → Any (λ x → (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)) (fires s)
complete (join-zset {m = m} {n} some) with nothing-there m n
... | no _  = here (refl , refl)
... | yes p = ⊥-elim (some p)
complete (join-zset-left-ended {f = open′} n)    = here (refl , refl)
complete (join-zset-left-ended {f = arrived} n)  = ⊥-elim (n refl)
complete (join-zset-left-ended {f = passed} n)   = here (refl , refl)
complete (join-zset-right-ended {e = open′} n)   = here (refl , refl)
complete (join-zset-right-ended {e = arrived} n) = ⊥-elim (n refl)
complete (join-zset-right-ended {e = passed} n)  = here (refl , refl)
complete join-zset-terminated = here (refl , refl)
complete (join-zset-right {n = n} some) with empty? n
... | no _  = here (refl , refl)
... | yes p = ⊥-elim (some p)
complete join-zset-right-terminated = here (refl , refl)
complete (join-zset-left {m = m} some) with empty? m
... | no _  = here (refl , refl)
... | yes p = ⊥-elim (some p)
complete join-zset-left-terminated = here (refl , refl)

operator′ : Operator (Z ∷ Z ∷ []) (Z ∷ [])
operator′ = record
  { Expr = Seen ; begin = live [] [] ; Fires = Fires ; fires = fires ; complete = complete
  ; rule = λ { (join-zset _) → "join-zset" ; (join-zset-right _) → "join-zset" ; (join-zset-left _) → "join-zset"
             ; (join-zset-left-ended _) → "join-zset-left-ended" ; (join-zset-right-ended _) → "join-zset-right-ended"
             ; join-zset-terminated → "join-zset-terminated" ; join-zset-right-terminated → "join-zset-terminated"
             ; join-zset-left-terminated → "join-zset-terminated" } }

open Machine (Operator.node operator′)

rank : Seen → ℕ
rank (live _ _)     = 2
rank (left-over _)  = 1
rank (right-over _) = 1
rank over           = 0

filled : Map → ℕ
filled []        = 0
filled (trail _) = 1

waiting : Val Z → ℕ
waiting (z m _) = filled m

-- A rank that falls weighs more than all that may be in the two buffers.
measure : State → ℕ
measure (s , two l r) = rank s Nat.* 3 Nat.+ (waiting l Nat.+ waiting r)

falls : ∀ {s t o} → Fires s t o → measure t < measure s
falls (join-zset {m = []} {[]} some)           = ⊥-elim (some (refl , refl))
falls (join-zset {m = trail _} {[]} some)      = NatP.≤-refl
falls (join-zset {m = []} {trail _} some)      = NatP.≤-refl
falls (join-zset {m = trail _} {trail _} some) = s≤s (s≤s (s≤s (s≤s (s≤s (s≤s (s≤s z≤n))))))
falls (join-zset-left-ended _)                 = s≤s (s≤s (s≤s (s≤s z≤n)))
falls (join-zset-right-ended _)                = s≤s (s≤s (s≤s (s≤s z≤n)))
falls join-zset-terminated                     = s≤s z≤n
falls (join-zset-right {n = []} some)          = ⊥-elim (some refl)
falls (join-zset-right {l = l} {trail _} some) = NatP.+-monoʳ-< 3 (NatP.+-monoʳ-< (waiting l) (s≤s z≤n))
falls join-zset-right-terminated               = s≤s z≤n
falls (join-zset-left {m = []} some)           = ⊥-elim (some refl)
falls (join-zset-left {m = trail _} some)      = NatP.≤-refl
falls join-zset-left-terminated                = s≤s z≤n

confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
confluent (join-zset _) (join-zset _) = join-≡ refl ≋-refl
confluent (join-zset some) (join-zset-left-ended _)  = ⊥-elim (some (refl , refl))
confluent (join-zset some) (join-zset-right-ended _) = ⊥-elim (some (refl , refl))
confluent (join-zset some) join-zset-terminated      = ⊥-elim (some (refl , refl))
confluent (join-zset-left-ended _)  (join-zset some) = ⊥-elim (some (refl , refl))
confluent (join-zset-right-ended _) (join-zset some) = ⊥-elim (some (refl , refl))
confluent join-zset-terminated      (join-zset some) = ⊥-elim (some (refl , refl))
confluent (join-zset-left-ended _) (join-zset-left-ended _)   = join-≡ refl ≋-refl
confluent (join-zset-left-ended n) (join-zset-right-ended _)  = ⊥-elim (n refl)
confluent (join-zset-left-ended n) join-zset-terminated       = ⊥-elim (n refl)
confluent (join-zset-right-ended _) (join-zset-right-ended _) = join-≡ refl ≋-refl
confluent (join-zset-right-ended n) (join-zset-left-ended _)  = ⊥-elim (n refl)
confluent (join-zset-right-ended n) join-zset-terminated      = ⊥-elim (n refl)
confluent join-zset-terminated join-zset-terminated           = join-≡ refl ≋-refl
confluent join-zset-terminated (join-zset-left-ended n)       = ⊥-elim (n refl)
confluent join-zset-terminated (join-zset-right-ended n)      = ⊥-elim (n refl)
confluent (join-zset-right _) (join-zset-right _)             = join-≡ refl ≋-refl
confluent (join-zset-right some) join-zset-right-terminated   = ⊥-elim (some refl)
confluent join-zset-right-terminated (join-zset-right some)   = ⊥-elim (some refl)
confluent join-zset-right-terminated join-zset-right-terminated = join-≡ refl ≋-refl
confluent (join-zset-left _) (join-zset-left _)               = join-≡ refl ≋-refl
confluent (join-zset-left some) join-zset-left-terminated     = ⊥-elim (some refl)
confluent join-zset-left-terminated (join-zset-left some)     = ⊥-elim (some refl)
confluent join-zset-left-terminated join-zset-left-terminated = join-≡ refl ≋-refl

out-sum : ∀ a b c → c ≡ a ⊎ b → [ out c ] ≋ (out a ∷ out b ∷ [])
out-sum a b _ refl = same λ
  { (z m open′ ∷ [])   → cong (λ n → z n open′ ∷ []) (sym (⊎-assoc m a b))
  ; (z m arrived ∷ []) → refl ; (z m passed ∷ []) → refl }

out-none : ∀ {c} → c ≡ [] → [] ≋ [ out c ]
out-none refl = same λ
  { (z m open′ ∷ []) → cong (λ n → z n open′ ∷ []) (sym (⊎-[]ʳ m)) ; (z m arrived ∷ []) → refl ; (z m passed ∷ []) → refl }

-- Consume what is there, if anything is.
consume : ∀ M N m n e f → ∃ λ os → Steps (live M N , two (z m e) (z n f)) (live (M ⊎ m) (N ⊎ n) , two (z [] e) (z [] f)) os ×
  (os ≋ [ out (change M N m n) ])
consume M N m n e f with nothing-there m n
... | no some = _ , (join-zset some ◅ ε) , ≋-refl
... | yes (refl , refl) = [] , subst (λ s → Steps (live M N , two (z [] e) (z [] f)) (s , two (z [] e) (z [] f)) [])
    (cong₂ live (sym (⊎-[]ʳ M)) (sym (⊎-[]ʳ N))) ε , out-none (trans (change-left M N []) (⋈-[]ˡ N))

consume-right : ∀ M l n f → ∃ λ os → Steps (left-over M , two l (z n f)) (left-over M , two l (z [] f)) os × (os ≋ [ out (M ⋈ n) ])
consume-right M l n f with empty? n
... | no some  = _ , (join-zset-right some ◅ ε) , ≋-refl
... | yes refl = [] , ε , out-none (⋈-[]ʳ M)

consume-left : ∀ N r m e → ∃ λ os → Steps (right-over N , two (z m e) r) (right-over N , two (z [] e) r) os × (os ≋ [ out (m ⋈ N) ])
consume-left N r m e with empty? m
... | no some  = _ , (join-zset-left some ◅ ε) , ≋-refl
... | yes refl = [] , ε , out-none (⋈-[]ˡ N)

-- What a delta adds to a buffer, whatever the buffer has.
arrival : ∀ e (d : Maybe (Val Z)) → ∃ λ x → ∃ λ f → ∀ m → add (z m e) d ≡ z (m ⊎ x) f
arrival e nothing                  = [] , e , λ m → cong (λ n → z n e) (sym (⊎-[]ʳ m))
arrival open′ (just (z x f))       = x , reach f , λ m → refl
arrival arrived (just (z x f))     = [] , arrived , λ m → cong (λ n → z n arrived) (sym (⊎-[]ʳ m))
arrival passed (just (z x f))      = [] , passed , λ m → cong (λ n → z n passed) (sym (⊎-[]ʳ m))

arrival-[] : ∀ e d → let x , f , _ = arrival e d in add (z [] e) d ≡ z x f
arrival-[] e d = let x , f , p = arrival e d in trans (p []) (cong (λ n → z n f) (⊎-[]ˡ x))

absorbed : ∀ {m : Map} (a : Maybe (Val Z)) → add {Z} (z m arrived) a ≡ z m arrived
absorbed nothing        = refl
absorbed (just (val _)) = refl

stays-gone : ∀ (a : Maybe (Val Z)) → add gone a ≡ gone
stays-gone nothing        = refl
stays-gone (just (val _)) = refl

-- The other side goes on before or after the end of this one.
none-last : ∀ {us vs : List (Deltas (Z ∷ []))} → us ≋ vs → (us ++ [ nothing ∷ [] ]) ≋ ((nothing ∷ []) ∷ vs)
none-last {us} {vs} p = same λ v → trans (⊕*-++ v us _) (trans (drop-none (v ⊕* us)) (trans (on p v) (cong (_⊕* vs) (sym (drop-none v)))))
  where
  drop-none : ∀ (v : Vals (Z ∷ [])) → v ⊕ (nothing ∷ []) ≡ v
  drop-none (c ∷ []) = refl

none-first : ∀ {us vs : List (Deltas (Z ∷ []))} → us ≋ vs → us ≋ ((nothing ∷ []) ∷ vs)
none-first {us} {vs} p = ≋-trans p (same λ { (c ∷ []) → refl })

left-then : ∀ M N y f → Join (live M N , two (z [] arrived) (z y f)) [] (left-over M , two gone (z y f)) [ nothing ∷ [] ]
left-then M N y f with consume M N [] y arrived f | consume-right M gone y f
left-then M N y f | os , st , o≋ | ps , st′ , p≋ = go f st st′
  where
  same-out : os ≋ ps
  same-out = ≋-trans o≋ (≋-trans (same λ v → cong (λ c → v ⊕ out c) (change-right M N y)) (≋-sym p≋))
  left-end : ∀ f → f ≢ arrived → Steps (live (M ⊎ []) (N ⊎ y) , two (z [] arrived) (z [] f)) (left-over M , two gone (z [] f)) [ nothing ∷ [] ]
  left-end f n = subst (λ K → Steps (live (M ⊎ []) (N ⊎ y) , two (z [] arrived) (z [] f)) (left-over K , two gone (z [] f)) [ nothing ∷ [] ])
    (⊎-[]ʳ M) (join-zset-left-ended n ◅ ε)
  go : ∀ f → Steps (live M N , two (z [] arrived) (z y f)) (live (M ⊎ []) (N ⊎ y) , two (z [] arrived) (z [] f)) os →
    Steps (left-over M , two gone (z y f)) (left-over M , two gone (z [] f)) ps →
    Join (live M N , two (z [] arrived) (z y f)) [] (left-over M , two gone (z y f)) [ nothing ∷ [] ]
  go arrived s t = joined (s ◅◅ (join-zset-terminated ◅ ε)) (t ◅◅ (join-zset-right-terminated ◅ ε)) (none-first (≋-++ same-out ≋-refl))
  go open′   s t = joined (s ◅◅ left-end open′ (λ ())) t (none-last same-out)
  go passed  s t = joined (s ◅◅ left-end passed (λ ())) t (none-last same-out)

right-then : ∀ M N x e → Join (live M N , two (z x e) (z [] arrived)) [] (right-over N , two (z x e) gone) [ nothing ∷ [] ]
right-then M N x e with consume M N x [] e arrived | consume-left N gone x e
right-then M N x e | os , st , o≋ | ps , st′ , p≋ = go e st st′
  where
  same-out : os ≋ ps
  same-out = ≋-trans o≋ (≋-trans (same λ v → cong (λ c → v ⊕ out c) (change-left M N x)) (≋-sym p≋))
  right-end : ∀ e → e ≢ arrived → Steps (live (M ⊎ x) (N ⊎ []) , two (z [] e) (z [] arrived)) (right-over N , two (z [] e) gone) [ nothing ∷ [] ]
  right-end e n = subst (λ K → Steps (live (M ⊎ x) (N ⊎ []) , two (z [] e) (z [] arrived)) (right-over K , two (z [] e) gone) [ nothing ∷ [] ])
    (⊎-[]ʳ N) (join-zset-right-ended n ◅ ε)
  go : ∀ e → Steps (live M N , two (z x e) (z [] arrived)) (live (M ⊎ x) (N ⊎ []) , two (z [] e) (z [] arrived)) os →
    Steps (right-over N , two (z x e) gone) (right-over N , two (z [] e) gone) ps →
    Join (live M N , two (z x e) (z [] arrived)) [] (right-over N , two (z x e) gone) [ nothing ∷ [] ]
  go arrived s t = joined (s ◅◅ (join-zset-terminated ◅ ε)) (t ◅◅ (join-zset-left-terminated ◅ ε)) (none-first (≋-++ same-out ≋-refl))
  go open′   s t = joined (s ◅◅ right-end open′ (λ ())) t (none-last same-out)
  go passed  s t = joined (s ◅◅ right-end passed (λ ())) t (none-last same-out)

eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
eager (a ∷ b ∷ []) (join-zset {M} {N} {m} {n} {e} {f} some)
  with arrival e a | arrival-[] e a | arrival f b | arrival-[] f b
... | x , e′ , p | p₀ | y , f′ , q | q₀ with consume M N (m ⊎ x) (n ⊎ y) e′ f′ | consume (M ⊎ m) (N ⊎ n) x y e′ f′
... | os , st , o≋ | ps , st′ , p≋ = joined
  (subst (λ v → Steps (live M N , v) (live (M ⊎ (m ⊎ x)) (N ⊎ (n ⊎ y)) , two (z [] e′) (z [] f′)) os) (sym (cong₂ (λ l r → two l r) (p m) (q n))) st)
  (subst (λ v → Steps (live (M ⊎ m) (N ⊎ n) , v) (live (M ⊎ (m ⊎ x)) (N ⊎ (n ⊎ y)) , two (z [] e′) (z [] f′)) ps) (sym (cong₂ (λ l r → two l r) p₀ q₀))
    (subst (λ s → Steps (live (M ⊎ m) (N ⊎ n) , two (z x e′) (z y f′)) (s , two (z [] e′) (z [] f′)) ps)
      (cong₂ live (⊎-assoc M m x) (⊎-assoc N n y)) st′))
  (≋-trans o≋ (≋-trans (out-sum (change M N m n) (change (M ⊎ m) (N ⊎ n) x y) _ (change-sum M N m n x y))
    (≋-++ {a = [ out (change M N m n) ]} ≋-refl (≋-sym p≋))))
eager (a ∷ b ∷ []) (join-zset-right {M} {l} {n} {f} some) with arrival f b | arrival-[] f b
... | y , f′ , q | q₀ with consume-right M (add l a) (n ⊎ y) f′ | consume-right M (add l a) y f′
... | os , st , o≋ | ps , st′ , p≋ = joined
  (subst (λ r → Steps (left-over M , two (add l a) r) (left-over M , two (add l a) (z [] f′)) os) (sym (q n)) st)
  (subst (λ r → Steps (left-over M , two (add l a) r) (left-over M , two (add l a) (z [] f′)) ps) (sym q₀) st′)
  (≋-trans o≋ (≋-trans (out-sum (M ⋈ n) (M ⋈ y) _ (⋈-sum M n y)) (≋-++ {a = [ out (M ⋈ n) ]} ≋-refl (≋-sym p≋))))
eager (a ∷ b ∷ []) (join-zset-left {N} {r} {m} {e} some) with arrival e a | arrival-[] e a
... | x , e′ , p | p₀ with consume-left N (add r b) (m ⊎ x) e′ | consume-left N (add r b) x e′
... | os , st , o≋ | ps , st′ , p≋ = joined
  (subst (λ l → Steps (right-over N , two l (add r b)) (right-over N , two (z [] e′) (add r b)) os) (sym (p m)) st)
  (subst (λ l → Steps (right-over N , two l (add r b)) (right-over N , two (z [] e′) (add r b)) ps) (sym p₀) st′)
  (≋-trans o≋ (≋-trans (out-sum (m ⋈ N) (x ⋈ N) _ (sum-⋈ N m x)) (≋-++ {a = [ out (m ⋈ N) ]} ≋-refl (≋-sym p≋))))
eager (a ∷ b ∷ []) (join-zset-terminated {M} {N}) = joined
  (subst (λ v → Steps (live M N , v) (over , two gone gone) [ end′ ]) (sym (cong₂ (λ l r → two l r) (absorbed a) (absorbed b))) (join-zset-terminated ◅ ε))
  (subst (λ v → Steps (over , v) (over , two gone gone) []) (sym (cong₂ (λ l r → two l r) (stays-gone a) (stays-gone b))) ε) ≋-refl
eager (a ∷ b ∷ []) (join-zset-right-terminated {M} {l}) = joined
  (subst (λ r → Steps (left-over M , two (add l a) r) (over , two gone gone) [ end′ ]) (sym (absorbed b)) (join-zset-right-terminated ◅ ε))
  (subst (λ v → Steps (over , v) (over , two gone gone) []) (sym (cong₂ (λ l r → two l r) (stays-gone a) (stays-gone b))) ε) ≋-refl
eager (a ∷ b ∷ []) (join-zset-left-terminated {N} {r}) = joined
  (subst (λ l → Steps (right-over N , two l (add r b)) (over , two gone gone) [ end′ ]) (sym (absorbed a)) (join-zset-left-terminated ◅ ε))
  (subst (λ v → Steps (over , v) (over , two gone gone) []) (sym (cong₂ (λ l r → two l r) (stays-gone a) (stays-gone b))) ε) ≋-refl
eager (a ∷ b ∷ []) (join-zset-left-ended {M} {N} {f} nf) with arrival f b | arrival-[] f b
... | y , f′ , q | q₀ rewrite absorbed {[]} a | stays-gone a | q₀ = left-then M N y f′
eager (a ∷ b ∷ []) (join-zset-right-ended {M} {N} {e} ne) with arrival e a | arrival-[] e a
... | x , e′ , p | p₀ rewrite absorbed {[]} b | stays-gone b | p₀ = right-then M N x e′

lawful′ : Lawful (Operator.node operator′)
lawful′ = record
  { terminates = falling (Operator.node operator′) measure (λ {s} {t} → falls {s} {t}) ; confluent = confluent ; eager = eager }

data Typed : Flags (Z ∷ Z ∷ []) → Flags (Z ∷ []) → Set where
  join-type : ∀ {f} → Typed (f ∷ f ∷ []) (f ∷ [])

over-stuck : ∀ {v w} → Stuck ((over , v) , w)
over-stuck (step ())

progress′ : ∀ {f} → Progress (Operator.node operator′) (f ∷ f ∷ []) (f ∷ [])
progress′ {f} = progress-by (Operator.node operator′) lawful′ known
  where
  not-open : ∀ {A : Set} → Ended open′ → A
  not-open ()
  result : Map → Map → Map
  result m n = [] ⊎ change [] [] m n
  -- First all content is consumed.
  first : ∀ m n e f → ((live [] [] , two (z m e) (z n f)) , z [] open′ ∷ []) ⟶*
    ((live ([] ⊎ m) ([] ⊎ n) , two (z [] e) (z [] f)) , z (result m n) open′ ∷ [])
  first m n e f = let os , st , o≋ = consume [] [] m n e f in
    subst (λ w → ((live [] [] , two (z m e) (z n f)) , z [] open′ ∷ []) ⟶* ((live ([] ⊎ m) ([] ⊎ n) , two (z [] e) (z [] f)) , w))
      (on o≋ (z [] open′ ∷ [])) (lift st (z [] open′ ∷ []))
  ended : ∀ m n → ((live [] [] , two (z m arrived) (z n arrived)) , ∅s) ⟶* ((over , two gone gone) , z (result m n) arrived ∷ [])
  ended m n = subst (λ r → ((live [] [] , two (z m arrived) (z n arrived)) , ∅s) ⟶* ((over , two gone gone) , z r arrived ∷ []))
    (⊎-[]ʳ (result m n)) (first m n arrived arrived Rw.◅◅ (step join-zset-terminated Rw.◅ Rw.ε))
  known : ∀ v → Complete (f ∷ f ∷ []) v → ∃ λ s → ∃ λ w → (((live [] [] , v) , ∅s) ⟶* (s , w)) × Stuck (s , w) ×
    Complete (f ∷ []) w × Maximal (Operator.node operator′) v w
  known (two (z m arrived) (z n arrived)) c =
    _ , _ , ended m n , over-stuck , ((arrived , λ _ → arrived) ∷ []) , _ , ended m n , over-stuck
  known (two (z m open′) (z n open′)) ((_ , b) ∷ _) =
    _ , _ , first m n open′ open′ , (λ { (step (join-zset some)) → some (refl , refl) }) ,
    ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , ended m n , over-stuck
  known (two (z m arrived) (z n open′)) (_ ∷ (_ , b) ∷ _) =
    _ , _ , (first m n arrived open′ Rw.◅◅ (step (join-zset-left-ended (λ ())) Rw.◅ Rw.ε)) ,
    (λ { (step (join-zset-right some)) → some refl }) ,
    ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , ended m n , over-stuck
  known (two (z m open′) (z n arrived)) ((_ , b) ∷ _) =
    _ , _ , (first m n open′ arrived Rw.◅◅ (step (join-zset-right-ended (λ ())) Rw.◅ Rw.ε)) ,
    (λ { (step (join-zset-left some)) → some refl }) ,
    ((open′ , λ eq → not-open (b eq)) ∷ []) , _ , ended m n , over-stuck
  known (two (z m passed) _) ((() , _) ∷ _)
  known (two (z m open′) (z n passed)) (_ ∷ (() , _) ∷ _)
  known (two (z m arrived) (z n passed)) (_ ∷ (() , _) ∷ _)

join′ : Graph (Z ∷ Z ∷ []) (Z ∷ [])
join′ = op operator′ record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { join-type → progress′ } }
