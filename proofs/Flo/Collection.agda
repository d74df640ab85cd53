{-# OPTIONS --safe #-}

-- L^C: one collection, its concatenation, the empty delta and fix, with their laws.

module Flo.Collection where

open import Data.Empty using (⊥-elim)
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Relation.Binary.PropositionalEquality using (_≡_; _≢_; refl; sym; cong; cong₂)
open import Relation.Nullary using (¬_; Dec; yes; no)

-- flo.core.collection.End: an end that has arrived and one that was passed on are different values.
data End : Set where
  open′ arrived passed : End

data Ended : End → Set where
  arrived : Ended arrived
  passed  : Ended passed

ended? : ∀ e → Dec (Ended e)
ended? open′   = no λ ()
ended? arrived = yes arrived
ended? passed  = yes passed

-- The end that fix gives.
close : End → End
close open′   = arrived
close arrived = arrived
close passed  = passed

-- The end of a buffer whose content was taken on.
pass : End → End
pass open′   = open′
pass arrived = passed
pass passed  = passed

-- The end that a delta brings. No delta of Flo has an end that was passed on; here it would count as one that arrives.
reach : End → End
reach open′   = open′
reach arrived = arrived
reach passed  = arrived

data Unpassed : End → Set where
  open′   : Unpassed open′
  arrived : Unpassed arrived

record Collection : Set₁ where
  infixl 5 _++_
  field
    Value  : Set
    _++_   : Value → Value → Value
    ∅      : Value
    fix    : Value → Value
    Fixed  : Value → Set
    fixed? : ∀ c → Dec (Fixed c)

    -- The laws of docs/laws.md.
    fix-fixes     : ∀ c → Fixed (fix c)
    fixed-absorbs : ∀ {c} → Fixed c → ∀ d → c ++ d ≡ c
    identityʳ     : ∀ c → c ++ ∅ ≡ c

    -- What Flo's collections have besides: a delta may be cut; ∅ is ⊥, where a stream begins.
    assoc         : ∀ c d e → (c ++ d) ++ e ≡ c ++ (d ++ e)
    open-∅        : ¬ Fixed ∅

    -- For wires: what stays in a buffer when all of it is passed on (Value.take), and whether anything is left to take
    -- (Value.size() is 0).
    rest       : Value → Value
    Idle       : Value → Set
    idle?      : ∀ c → Dec (Idle c)
    idle-∅     : Idle ∅
    rest-idle  : ∀ c → Idle (rest c)
    rest-open  : ∀ {c} → ¬ Fixed c → rest c ≡ ∅
    rest-fixed : ∀ {c} → Fixed c → Fixed (rest c)
    idle-open  : ∀ {c} → Idle c → ¬ Fixed c → c ≡ ∅

    rest-arrive : ∀ {c} d → ¬ Fixed c → rest (c ++ d) ≡ rest (∅ ++ d)
    arrive-busy : ∀ {c} d → ¬ Fixed c → Fixed (c ++ d) → ¬ Idle (c ++ d)

    -- For progress: data as it comes from outside, whose end was not passed on.
    Fresh      : Value → Set
    fresh-∅    : Fresh ∅
    identityˡ  : ∀ {d} → Fresh d → ∅ ++ d ≡ d
    fresh-fix  : ∀ {c} → Fresh c → Fresh (fix c)
    fresh-busy : ∀ {c} → Fresh c → Fixed c → ¬ Idle c

-- What sequences, weighted elements and LVars share: a content that is a monoid, and an end.
module WithEnd {M : Set} (_∙_ : M → M → M) (e : M)
  (∙-assoc : ∀ x y z → (x ∙ y) ∙ z ≡ x ∙ (y ∙ z)) (∙-idˡ : ∀ x → e ∙ x ≡ x) (∙-idʳ : ∀ x → x ∙ e ≡ x)
  (empty? : ∀ x → Dec (x ≡ e)) where

  concat : M × End → M × End → M × End
  concat (x , open′)   (y , f) = (x ∙ y) , reach f
  concat (x , arrived) _       = x , arrived
  concat (x , passed)  _       = x , passed

  private
    reach-reach : ∀ f → reach (reach f) ≡ reach f
    reach-reach open′   = refl
    reach-reach arrived = refl
    reach-reach passed  = refl

    idle? : (c : M × End) → Dec ((proj₁ c ≡ e) × (proj₂ c ≢ arrived))
    idle? (x , f) with empty? x
    idle? (x , open′)   | yes p = yes (p , λ ())
    idle? (x , arrived) | yes p = no λ { (_ , q) → q refl }
    idle? (x , passed)  | yes p = yes (p , λ ())
    idle? (x , f)       | no n  = no λ { (p , _) → n p }

  collection : Collection
  collection = record
    { Value = M × End ; _++_ = concat ; ∅ = e , open′
    ; fix = λ c → proj₁ c , close (proj₂ c) ; Fixed = λ c → Ended (proj₂ c) ; fixed? = λ c → ended? (proj₂ c)
    ; fix-fixes = λ { (_ , open′) → arrived ; (_ , arrived) → arrived ; (_ , passed) → passed }
    ; fixed-absorbs = λ { {_ , arrived} _ _ → refl ; {_ , passed} _ _ → refl }
    ; identityʳ = λ { (x , open′) → cong (_, open′) (∙-idʳ x) ; (_ , arrived) → refl ; (_ , passed) → refl }
    ; assoc = λ { (x , open′) (y , open′) (z , f) → cong₂ _,_ (∙-assoc x y z) (sym (reach-reach f))
                ; (_ , open′) (_ , arrived) _ → refl ; (_ , open′) (_ , passed) _ → refl
                ; (_ , arrived) _ _ → refl ; (_ , passed) _ _ → refl }
    ; open-∅ = λ ()
    ; rest = λ c → e , pass (proj₂ c) ; Idle = λ c → (proj₁ c ≡ e) × (proj₂ c ≢ arrived) ; idle? = idle?
    ; idle-∅ = refl , λ ()
    ; rest-idle = λ { (_ , open′) → refl , (λ ()) ; (_ , arrived) → refl , (λ ()) ; (_ , passed) → refl , λ () }
    ; rest-open = λ { {_ , open′} _ → refl ; {_ , arrived} n → ⊥-elim (n arrived) ; {_ , passed} n → ⊥-elim (n passed) }
    ; rest-fixed = λ { {_ , arrived} _ → passed ; {_ , passed} _ → passed }
    ; idle-open = λ { {_ , open′} (refl , _) _ → refl ; {_ , arrived} _ n → ⊥-elim (n arrived) ; {_ , passed} _ n → ⊥-elim (n passed) }
    ; rest-arrive = λ { {_ , open′} _ _ → refl
                      ; {_ , arrived} _ n → ⊥-elim (n arrived) ; {_ , passed} _ n → ⊥-elim (n passed) }
    ; arrive-busy = λ { {_ , open′} (_ , open′) _ () ; {_ , open′} (_ , arrived) _ _ (_ , q) → q refl
                      ; {_ , open′} (_ , passed) _ _ (_ , q) → q refl
                      ; {_ , arrived} _ n _ → ⊥-elim (n arrived) ; {_ , passed} _ n _ → ⊥-elim (n passed) }
    ; Fresh = λ c → Unpassed (proj₂ c) ; fresh-∅ = open′
    ; identityˡ = λ { {x , open′} open′ → cong (_, open′) (∙-idˡ x) ; {x , arrived} arrived → cong (_, arrived) (∙-idˡ x) }
    ; fresh-fix = λ { {_ , open′} open′ → arrived ; {_ , arrived} arrived → arrived }
    ; fresh-busy = λ { {_ , arrived} arrived arrived (_ , q) → q refl } }
