{-# OPTIONS --safe #-}

-- Wires (flo.core.structural.Wire): they duplicate, reorder and drop streams of any collection.

open import Flo.Collection

module Flo.Operators.Wire {Name : Set} (collection : Name → Collection) where

open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; [_])
open import Data.List.Relation.Unary.Any using (Any; here; there)
import Data.List.Relation.Unary.Any as Any
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; _<_; _+_)
import Data.Nat.Properties as NatP
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.String using (String)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst)
open import Relation.Nullary using (yes; no; ¬_)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection

-- A place in a tuple of streams.
data _∈_ (t : Ty) : Tys → Set where
  here  : ∀ {ts} → t ∈ (t ∷ ts)
  there : ∀ {u ts} → t ∈ ts → t ∈ (u ∷ ts)

-- For each output, the input that it carries.
data Routes (I : Tys) : Tys → Set where
  []  : Routes I []
  _∷_ : ∀ {t ts} → t ∈ I → Routes I ts → Routes I (t ∷ ts)

look : ∀ {t ts} → t ∈ ts → Vals ts → Val t
look here      (c ∷ cs) = c
look (there i) (c ∷ cs) = look i cs

put : ∀ {t ts} → t ∈ ts → Val t → Vals ts → Vals ts
put here      x (c ∷ cs) = x ∷ cs
put (there i) x (c ∷ cs) = c ∷ put i x cs

lookᶠ : ∀ {t ts} → t ∈ ts → Flags ts → Flag t
lookᶠ here      (f ∷ fs) = f
lookᶠ (there i) (f ∷ fs) = lookᶠ i fs

-- What goes to an output that carries one input when another one is taken.
pick : ∀ {s t ts} → s ∈ ts → t ∈ ts → Val s → Maybe (Val t)
pick here      here      x = just x
pick here      (there j) x = nothing
pick (there i) here      x = nothing
pick (there i) (there j) x = pick i j x

send : ∀ {s I O} → s ∈ I → Routes I O → Val s → Deltas O
send i []       x = []
send i (j ∷ js) x = pick i j x ∷ send i js x

module _ {I O : Tys} (name : String) (routes : Routes I O) where

  data Fires : ⊤ × Vals I → ⊤ × Vals I → Deltas O → Set where
    wire : ∀ {t v v′} (i : t ∈ I) (c : Val t) → look i v ≡ c → ¬ Idleᵛ c → v′ ≡ put i (restᵛ c) v →
      Fires (tt , v) (tt , v′) (send i routes c)

  places : ∀ {ts} → (∀ {t} → t ∈ ts → t ∈ I) → Vals ts → (v : Vals I) → List (∃ λ s′ → ∃ λ o → Fires (tt , v) s′ o)
  places place []       v = []
  places place (_ ∷ cs) v with idleᵛ? (look (place here) v)
  ... | yes _ = places (λ i → place (there i)) cs v
  ... | no n  = (_ , _ , wire (place here) _ refl n refl) ∷ places (λ i → place (there i)) cs v

  Found : ∀ {s} → ⊤ × Vals I → Deltas O → (∃ λ s′ → ∃ λ o → Fires s s′ o) → Set
  Found s′ o x = (proj₁ x ≡ s′) × (proj₁ (proj₂ x) ≡ o)

  places-complete : ∀ {t ts} (place : ∀ {t} → t ∈ ts → t ∈ I) (cs : Vals ts) v (i : t ∈ ts) → ¬ Idleᵛ (look (place i) v) →
    Any (Found (tt , put (place i) (restᵛ (look (place i) v)) v) (send (place i) routes (look (place i) v))) (places place cs v)
  places-complete place (_ ∷ cs) v here busy with idleᵛ? (look (place here) v)
  ... | yes p = ⊥-elim (busy p)
  ... | no _  = here (refl , refl)
  places-complete place (_ ∷ cs) v (there i) busy with idleᵛ? (look (place here) v)
  ... | yes _ = places-complete (λ j → place (there j)) cs v i busy
  ... | no _  = there (places-complete (λ j → place (there j)) cs v i busy)

  wiring : Operator I O
  wiring = record
    { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = λ { (tt , v) → places (λ i → i) v v } ; rule = λ _ → name
    ; complete = λ { {_ , v} (wire i c refl busy refl) → places-complete (λ j → j) v v i busy } }

  open Machine (Operator.node wiring)

  weigh : ∀ {t} (c : Val t) → ℕ
  weigh c with idleᵛ? c
  ... | yes _ = 0
  ... | no _  = 1

  busy-count : ∀ {ts} → Vals ts → ℕ
  busy-count []       = 0
  busy-count (c ∷ cs) = weigh c + busy-count cs

  weigh-idle : ∀ {t} (c : Val t) → Idleᵛ c → weigh c ≡ 0
  weigh-idle c i with idleᵛ? c
  ... | yes _ = refl
  ... | no n  = ⊥-elim (n i)

  weigh-busy : ∀ {t} (c : Val t) → ¬ Idleᵛ c → weigh c ≡ 1
  weigh-busy c n with idleᵛ? c
  ... | yes i = ⊥-elim (n i)
  ... | no _  = refl

  count-falls : ∀ {t ts} (i : t ∈ ts) v → ¬ Idleᵛ (look i v) → busy-count (put i (restᵛ (look i v)) v) < busy-count v
  count-falls here (c ∷ cs) n rewrite weigh-idle (restᵛ c) (rest-idleᵛ c) | weigh-busy c n = NatP.≤-refl
  count-falls (there i) (c ∷ cs) n = NatP.+-monoʳ-< (weigh c) (count-falls i cs n)

  falls : ∀ {s t o} → Fires s t o → busy-count (proj₂ t) < busy-count (proj₂ s)
  falls {_ , v} (wire i c refl n refl) = count-falls i v n

  -- Whether two places are the same.
  data Places {ts : Tys} : ∀ {s t} → s ∈ ts → t ∈ ts → Set where
    equal  : ∀ {t} {i : t ∈ ts} → Places i i
    unlike : ∀ {s t} {i : s ∈ ts} {j : t ∈ ts} → (∀ v x → look j (put i x v) ≡ look j v) →
      (∀ v x → look i (put j x v) ≡ look i v) → (∀ v x y → put i x (put j y v) ≡ put j y (put i x v)) →
      (∀ x → pick i j x ≡ nothing) → Places i j

  places? : ∀ {s t ts} (i : s ∈ ts) (j : t ∈ ts) → Places i j
  places? here      here      = equal
  places? here      (there j) = unlike (λ { (_ ∷ _) _ → refl }) (λ { (_ ∷ _) _ → refl }) (λ { (_ ∷ _) _ _ → refl }) (λ _ → refl)
  places? (there i) here      = unlike (λ { (_ ∷ _) _ → refl }) (λ { (_ ∷ _) _ → refl }) (λ { (_ ∷ _) _ _ → refl }) (λ _ → refl)
  places? (there i) (there j) with places? i j
  ... | equal = equal
  ... | unlike p q r n = unlike (λ { (c ∷ v) x → p v x }) (λ { (c ∷ v) x → q v x }) (λ { (c ∷ v) x y → cong (c ∷_) (r v x y) }) n

  look-put : ∀ {t ts} (i : t ∈ ts) x v → look i (put i x v) ≡ x
  look-put here      x (c ∷ cs) = refl
  look-put (there i) x (c ∷ cs) = look-put i x cs

  put-put : ∀ {t ts} (i : t ∈ ts) x y v → put i x (put i y v) ≡ put i x v
  put-put here      x y (c ∷ cs) = refl
  put-put (there i) x y (c ∷ cs) = cong (c ∷_) (put-put i x y cs)

  put-look : ∀ {t ts} (i : t ∈ ts) v → put i (look i v) v ≡ v
  put-look here      (c ∷ cs) = refl
  put-look (there i) (c ∷ cs) = cong (c ∷_) (put-look i cs)

  -- An output carries one input, so that it gets something from one of two at most.
  pick-swap : ∀ {s t u ts} (i : s ∈ ts) (j : t ∈ ts) (k : u ∈ ts) x y → (∀ v z → look j (put i z v) ≡ look j v) →
    ∀ c → add (add c (pick i k x)) (pick j k y) ≡ add (add c (pick j k y)) (pick i k x)
  pick-swap here      here      here      x y ne c = ⊥-elim (absurd _ _ ne)
    where
    absurd : ∀ (t : Ty) ts → ¬ (∀ (v : Vals (t ∷ ts)) z → look here (put here z v) ≡ look here v)
    absurd t ts f = open-∅ᵛ {t} (subst Fixedᵛ (f (∅ᵛ ∷ ∅s) (fixᵛ ∅ᵛ)) (fixᵛ-fixes {t} ∅ᵛ))
  pick-swap here      here      (there k) x y ne c = refl
  pick-swap here      (there j) here      x y ne c = refl
  pick-swap here      (there j) (there k) x y ne c = refl
  pick-swap (there i) here      here      x y ne c = refl
  pick-swap (there i) here      (there k) x y ne c = refl
  pick-swap (there i) (there j) here      x y ne c = refl
  pick-swap (there i) (there j) (there k) x y ne c = pick-swap i j k x y (λ v z → ne (∅ᵛ ∷ v) z) c

  send-swap : ∀ {s t ts} (js : Routes I ts) (i : s ∈ I) (j : t ∈ I) x y → (∀ v z → look j (put i z v) ≡ look j v) →
    ∀ (w : Vals ts) → w ⊕ send i js x ⊕ send j js y ≡ w ⊕ send j js y ⊕ send i js x
  send-swap []       i j x y ne []       = refl
  send-swap (k ∷ ks) i j x y ne (c ∷ cs) = cong₂ _∷_ (pick-swap i j k x y ne c) (send-swap ks i j x y ne cs)

  -- Sending a value is sending its parts one after the other; sending nothing is not sending.
  pick-sum : ∀ {s t ts} (i : s ∈ ts) (k : t ∈ ts) x y c → add c (pick i k (x ⊹ y)) ≡ add (add c (pick i k x)) (pick i k y)
  pick-sum here      here      x y c = sym (⊹-assoc c x y)
  pick-sum here      (there k) x y c = refl
  pick-sum (there i) here      x y c = refl
  pick-sum (there i) (there k) x y c = pick-sum i k x y c

  send-sum : ∀ {s ts} (ks : Routes I ts) (i : s ∈ I) x y (w : Vals ts) → w ⊕ send i ks (x ⊹ y) ≡ w ⊕ send i ks x ⊕ send i ks y
  send-sum []       i x y []       = refl
  send-sum (k ∷ ks) i x y (c ∷ cs) = cong₂ _∷_ (pick-sum i k x y c) (send-sum ks i x y cs)

  pick-∅ : ∀ {s t ts} (i : s ∈ ts) (k : t ∈ ts) c → add c (pick i k ∅ᵛ) ≡ c
  pick-∅ here      here      c = ⊹-identityʳ c
  pick-∅ here      (there k) c = refl
  pick-∅ (there i) here      c = refl
  pick-∅ (there i) (there k) c = pick-∅ i k c

  send-∅ : ∀ {s ts} (ks : Routes I ts) (i : s ∈ I) (w : Vals ts) → w ⊕ send i ks ∅ᵛ ≡ w
  send-∅ []       i []       = refl
  send-∅ (k ∷ ks) i (c ∷ cs) = cong₂ _∷_ (pick-∅ i k c) (send-∅ ks i cs)

  confluent : ∀ {s t u o p} → Fires s t o → Fires s u p → Join t [ o ] u [ p ]
  confluent {_ , v} (wire i _ refl bi refl) (wire j _ refl bj refl) with places? i j
  ... | equal = join-≡ refl ≋-refl
  ... | unlike p q r _ = joined
    (wire j (look j v) (p v _) bj refl ◅ ε)
    (wire i (look i v) (q v _) bi (sym (r v _ _)) ◅ ε)
    (same λ w → send-swap routes i j _ _ p w)

  look-⊕ : ∀ {t ts} (i : t ∈ ts) v (d : Deltas ts) → ∃ λ m → (look i (v ⊕ d) ≡ add (look i v) m) ×
    (∀ x → put i x v ⊕ d ≡ put i (add x m) (v ⊕ d))
  look-⊕ here      (c ∷ cs) (d ∷ ds) = d , refl , λ _ → refl
  look-⊕ (there i) (c ∷ cs) (d ∷ ds) = let m , p , q = look-⊕ i cs ds in m , p , λ x → cong (add c d ∷_) (q x)

  -- Take what is there, if anything is.
  take-at : ∀ {t} (i : t ∈ I) v → (Fixedᵛ (look i v) → ¬ Idleᵛ (look i v)) → ∃ λ os →
    Steps (tt , v) (tt , put i (restᵛ (look i v)) v) os × (os ≋ [ send i routes (look i v) ])
  take-at i v ended with idleᵛ? (look i v)
  ... | no busy = _ , (wire i _ refl busy refl ◅ ε) , ≋-refl
  ... | yes idle = [] , subst (λ z → Steps (tt , v) (tt , z) []) (sym still) ε ,
      subst (λ c → [] ≋ [ send i routes c ]) (sym is-∅) (same λ w → sym (send-∅ routes i w))
    where
    opened : ¬ Fixedᵛ (look i v)
    opened f = ended f idle
    is-∅ : look i v ≡ ∅ᵛ
    is-∅ = idle-openᵛ {c = look i v} idle opened
    still : put i (restᵛ (look i v)) v ≡ v
    still = trans (cong (λ c → put i c v) (trans (rest-openᵛ {c = look i v} opened) (sym is-∅))) (put-look i v)

  eager : ∀ {s t o} d → Fires s t o → Join (push s d) [] (push t d) [ o ]
  eager {_ , v} d (wire {t} i c refl busy refl) with look-⊕ i v d | fixedᵛ? (look i v)
  ... | nothing , p , q | _ = joined (wire i _ p busy refl ◅ ε)
    (subst (λ z → Steps (tt , put i (restᵛ c) v ⊕ d) (tt , z) []) (q (restᵛ c)) ε) ≋-refl
  ... | just x , p , q | yes f = joined (wire i _ (trans p (⊹-absorbs {c = c} f x)) busy refl ◅ ε)
    (subst (λ z → Steps (tt , put i (restᵛ c) v ⊕ d) (tt , z) [])
      (trans (q (restᵛ c)) (cong (λ z → put i z (v ⊕ d)) (⊹-absorbs {c = restᵛ c} (rest-fixedᵛ {c = c} f) x))) ε) ≋-refl
  ... | just x , p , q | no o
    with take-at i (v ⊕ d) (λ f → subst (λ z → ¬ Idleᵛ z) (sym p) (arrive-busyᵛ {c = c} x o (subst Fixedᵛ p f)))
       | take-at i (put i (restᵛ c) v ⊕ d) (λ f → subst (λ z → ¬ Idleᵛ z) (sym after)
           (arrive-busyᵛ {c = ∅ᵛ} x (open-∅ᵛ {t}) (subst Fixedᵛ after f)))
    where
    after : look i (put i (restᵛ c) v ⊕ d) ≡ ∅ᵛ ⊹ x
    after = trans (cong (look i) (q (restᵛ c))) (trans (look-put i _ (v ⊕ d)) (cong (_⊹ x) (rest-openᵛ {c = c} o)))
  ... | os , st , o≋ | ps , st′ , p≋ = joined st
    (subst (λ z → Steps (tt , put i (restᵛ c) v ⊕ d) (tt , z) ps) meet st′)
    (≋-trans o≋ (≋-trans {b = send i routes c ∷ send i routes (∅ᵛ ⊹ x) ∷ []} (same λ w → trans (cong (λ z → w ⊕ send i routes z) (trans p split)) (send-sum routes i c (∅ᵛ ⊹ x) w))
      (≋-++ {a = [ send i routes c ]} ≋-refl (≋-sym (≋-trans p≋ (same λ w → cong (λ z → w ⊕ send i routes z) after))))))
    where
    after : look i (put i (restᵛ c) v ⊕ d) ≡ ∅ᵛ ⊹ x
    after = trans (cong (look i) (q (restᵛ c))) (trans (look-put i _ (v ⊕ d)) (cong (_⊹ x) (rest-openᵛ {c = c} o)))
    split : c ⊹ x ≡ c ⊹ (∅ᵛ ⊹ x)
    split = trans (cong (_⊹ x) (sym (⊹-identityʳ c))) (⊹-assoc c ∅ᵛ x)
    same-rest : restᵛ (∅ᵛ ⊹ x) ≡ restᵛ (c ⊹ x)
    same-rest = sym (rest-arriveᵛ {c = c} x o)
    meet : put i (restᵛ (look i (put i (restᵛ c) v ⊕ d))) (put i (restᵛ c) v ⊕ d) ≡ put i (restᵛ (look i (v ⊕ d))) (v ⊕ d)
    meet = trans (cong₂ (λ a b → put i (restᵛ a) b) after (q (restᵛ c)))
      (trans (put-put i _ _ (v ⊕ d)) (cong (λ z → put i z (v ⊕ d)) (trans same-rest (cong restᵛ (sym p)))))

  lawful′ : Lawful (Operator.node wiring)
  lawful′ = record
    { terminates = falling (Operator.node wiring) (λ s → busy-count (proj₂ s)) (λ {s} {t} → falls {s} {t})
    ; confluent = confluent ; eager = eager }

  -- The outputs carry what the inputs had.
  route : ∀ {ts} → Routes I ts → Vals I → Vals ts
  route []       v = []
  route (k ∷ ks) v = look k v ∷ route ks v

  routeᶠ : ∀ {ts} → Routes I ts → Flags I → Flags ts
  routeᶠ []       f = []
  routeᶠ (k ∷ ks) f = lookᶠ k f ∷ routeᶠ ks f

  -- In a run, an input was not taken yet, or it was, and the outputs that carry it have it.
  data Carried (v v′ : Vals I) : ∀ {ts} → Routes I ts → Vals ts → Set where
    []    : Carried v v′ [] []
    later : ∀ {t ts} {k : t ∈ I} {ks : Routes I ts} {cs} → look k v′ ≡ look k v → Carried v v′ ks cs → Carried v v′ (k ∷ ks) (∅ᵛ ∷ cs)
    taken : ∀ {t ts} {k : t ∈ I} {ks : Routes I ts} {cs} → look k v′ ≡ restᵛ (look k v) → Carried v v′ ks cs →
      Carried v v′ (k ∷ ks) (look k v ∷ cs)

  pick-same : ∀ {t ts} (i : t ∈ ts) x → pick i i x ≡ just x
  pick-same here      x = refl
  pick-same (there i) x = pick-same i x

  freshes-look : ∀ {t ts} (i : t ∈ ts) v → Freshes v → Freshᵛ (look i v)
  freshes-look here      (c ∷ cs) (f , _)  = f
  freshes-look (there i) (c ∷ cs) (_ , fs) = freshes-look i cs fs

  carry-step : ∀ {ts v v′ t} (i : t ∈ I) (ks : Routes I ts) {w} → Freshes v → ¬ Idleᵛ (look i v′) → Carried v v′ ks w →
    Carried v (put i (restᵛ (look i v′)) v′) ks (w ⊕ send i ks (look i v′))
  carry-step i [] fr busy [] = []
  carry-step {v = v} {v′} i (k ∷ ks) fr busy (later p cs) with places? i k
  ... | unlike q _ _ n rewrite n (look i v′) = later (trans (q v′ _) p) (carry-step i ks fr busy cs)
  ... | equal rewrite pick-same i (look i v′) | p | ⊹-identityˡ {d = look i v} (freshes-look i v fr) =
    taken (look-put i _ v′) (subst (λ c → Carried v (put i (restᵛ c) v′) ks (_ ⊕ send i ks c)) p (carry-step i ks fr busy′ cs))
    where
    busy′ : ¬ Idleᵛ (look i v′)
    busy′ = subst (λ c → ¬ Idleᵛ c) (sym p) busy
  carry-step {v = v} {v′} i (k ∷ ks) fr busy (taken p cs) with places? i k
  ... | unlike q _ _ n rewrite n (look i v′) = taken (trans (q v′ _) p) (carry-step i ks fr busy cs)
  ... | equal = ⊥-elim (busy (subst Idleᵛ (sym p) (rest-idleᵛ (look i v))))

  carry : ∀ {v v′ w v″ x} → Freshes v → Carried v v′ routes w → ((tt , v′) , w) ⟶* ((tt , v″) , x) → Carried v v″ routes x
  carry fr c Rw.ε = c
  carry fr c (step (wire i _ refl busy refl) Rw.◅ r) = carry fr (carry-step i routes fr busy c) r

  carry-all : ∀ {ts v v′ w} {ks : Routes I ts} → Freshes v → (∀ {t} (i : t ∈ I) → Idleᵛ (look i v′)) → Carried v v′ ks w → w ≡ route ks v
  carry-all fr idle [] = refl
  carry-all fr idle (taken p cs) = cong (_ ∷_) (carry-all fr idle cs)
  carry-all {v = v} fr idle (later {k = k} p cs) = cong₂ _∷_ (sym (idle-openᵛ {c = look k v} still opened)) (carry-all fr idle cs)
    where
    still : Idleᵛ (look k v)
    still = subst Idleᵛ p (idle k)
    opened : ¬ Fixedᵛ (look k v)
    opened f = fresh-busyᵛ {c = look k v} (freshes-look k v fr) f still

  carry-start : ∀ {ts v} (ks : Routes I ts) → Carried v v ks ∅s
  carry-start []       = []
  carry-start (k ∷ ks) = later refl (carry-start ks)

  outcome : ∀ {v v′ w} → Freshes v → ((tt , v) , ∅s) ⟶* ((tt , v′) , w) → Stuck ((tt , v′) , w) → w ≡ route routes v
  outcome {v′ = v′} fr r st = carry-all fr idle (carry fr (carry-start routes) r)
    where
    idle : ∀ {t} (i : t ∈ I) → Idleᵛ (look i v′)
    idle i with idleᵛ? (look i v′)
    ... | yes p = p
    ... | no n  = ⊥-elim (st (step (wire i _ refl n refl)))

  freshes : ∀ {ts} {f : Flags ts} {v} → Complete f v → Freshes v
  freshes []                        = tt
  freshes (_∷_ {f = f} {c = c} p ps) = fresh f c p , freshes ps

  complete-look : ∀ {t ts} (i : t ∈ ts) {f : Flags ts} {v} → Complete f v → Completeᵛ (lookᶠ i f) (look i v)
  complete-look here      (c ∷ cs) = c
  complete-look (there i) (c ∷ cs) = complete-look i cs

  complete-route : ∀ {ts} (ks : Routes I ts) {f v} → Complete f v → Complete (routeᶠ ks f) (route ks v)
  complete-route []       c = []
  complete-route (k ∷ ks) c = complete-look k c ∷ complete-route ks c

  route-fixes : ∀ {ts} (ks : Routes I ts) v → route ks (fixes v) ≡ fixes (route ks v)
  route-fixes []       v = refl
  route-fixes (k ∷ ks) v = cong₂ _∷_ (look-fixes k v) (route-fixes ks v)
    where
    look-fixes : ∀ {t ts} (i : t ∈ ts) v → look i (fixes v) ≡ fixᵛ (look i v)
    look-fixes here      (c ∷ cs) = refl
    look-fixes (there i) (c ∷ cs) = look-fixes i cs

  data Typed : Flags I → Flags O → Set where
    wire-type : ∀ {f} → Typed f (routeᶠ routes f)

  progress′ : ∀ {f} → Progress (Operator.node wiring) f (routeᶠ routes f)
  progress′ v cv {s} {w} r st with outcome (freshes cv) r st | Theory.run-to-stuck (Operator.node wiring) lawful′ ((tt , fixes v) , ∅s)
  ... | refl | (t , x) , p , st′ with outcome (freshes-fix v (freshes cv)) p st′
  ... | refl = complete-route routes cv , t ,
    subst (λ z → ((tt , fixes v) , ∅s) ⟶* (t , z)) (route-fixes routes v) p , subst (λ z → Stuck (t , z)) (route-fixes routes v) st′

  wires : Graph I O
  wires = op wiring record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = λ { wire-type → progress′ } }

-- The common wires: id, tee (the paper's), swap and drop.
identity : ∀ {t} → Graph (t ∷ []) (t ∷ [])
identity = wires "id" (here ∷ [])

tee : ∀ {t} → Graph (t ∷ []) (t ∷ t ∷ [])
tee = wires "tee" (here ∷ here ∷ [])

swap : ∀ {s t} → Graph (s ∷ t ∷ []) (t ∷ s ∷ [])
swap = wires "swap" (there here ∷ here ∷ [])

drop : ∀ {t} → Graph (t ∷ []) []
drop = wires "drop" []
