{-# OPTIONS --safe #-}

-- read_defer and write_defer (§5.3, §5.4); bodies of `nest` with any number of them; their types, with the contexts R
-- and W; collect_defer and set_defer; and that such a body makes progress from what was deferred.

open import Flo.Collection

module Flo.Defer {Name : Set} (collection : Name → Collection) where

open import Data.Bool using (Bool; true)
open import Data.Empty using (⊥-elim)
open import Data.List using (List; []; _∷_; _++_; [_])
open import Data.List.Relation.Unary.Any using (here)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat using (ℕ; _<_; z≤n; s≤s)
open import Data.Product using (∃; _×_; _,_; proj₁; proj₂)
open import Data.String using (String)
open import Data.Unit using (⊤; tt)
open import Relation.Binary.PropositionalEquality using (_≡_; refl; sym; trans; cong; cong₂; subst)
open import Relation.Nullary using (Dec; yes; no; ¬_)
open import Relation.Nullary.Decidable using (⌊_⌋)

open import Flo.Value collection
open import Flo.Machine collection
open import Flo.Progress collection
open import Flo.Graph collection hiding (_⨟_; _∥_)
import Flo.Graph collection as Graphs

module Read {t : Ty} (v₀ : Val t) where

  -- read_defer(k, v), and read_defer(k) after it has emitted v.
  data Fires : Maybe (Val t) × Vals [] → Maybe (Val t) × Vals [] → Deltas (t ∷ []) → Set where
    read-defer-emit : ∀ {v} → Fires (just v , []) (nothing , []) (just v ∷ [])

  fires : ∀ s → List (∃ λ s′ → ∃ λ o → Fires s s′ o)
  fires (just v , [])  = [ _ , _ , read-defer-emit ]
  fires (nothing , []) = []

  read-defer : Operator [] (t ∷ [])
  read-defer = record
    { Expr = Maybe (Val t) ; begin = just v₀ ; Fires = Fires ; fires = fires ; rule = λ _ → "read-defer-emit"
    ; complete = λ { read-defer-emit → here (refl , refl) } }

  open Machine (Operator.node read-defer)

  measure : State → ℕ
  measure (just _ , _)  = 1
  measure (nothing , _) = 0

  falls : ∀ {s u o} → Fires s u o → measure u < measure s
  falls read-defer-emit = s≤s z≤n

  lawful′ : Lawful (Operator.node read-defer)
  lawful′ = record
    { terminates = falling (Operator.node read-defer) measure (λ {s} {u} → falls {s} {u})
    ; confluent = λ { read-defer-emit read-defer-emit → join-≡ refl ≋-refl }
    ; eager = λ { [] read-defer-emit → joined (read-defer-emit ◅ ε) ε ≋-refl } }

  -- It emits its value, and the same with the ends of inner streams, if that is what it has.
  from-value : ∀ {v} {f : Flag t} → Completeᵛ f v →
    ProgressFrom (Operator.node read-defer) (just v , []) (just (fixᵛ v) , []) (λ _ _ → ⊤) [] (f ∷ [])
  from-value c [] [] Rw.ε st = ⊥-elim (st (step read-defer-emit))
  from-value {v} {f} c [] [] (step read-defer-emit Rw.◅ Rw.ε) st =
    subst (λ z → Complete (f ∷ []) (z ∷ [])) (sym emitted) (c ∷ []) , _ ,
    subst (λ z → ((just (fixᵛ v) , []) , ∅s) ⟶* ((nothing , []) , z ∷ []))
      (trans (⊹-identityˡ {d = fixᵛ v} (fresh-fixᵛ {c = v} (fresh f v c))) (cong fixᵛ (sym emitted))) (step read-defer-emit Rw.◅ Rw.ε) ,
    (λ { (step ()) }) , tt
    where
    emitted : ∅ᵛ ⊹ v ≡ v
    emitted = ⊹-identityˡ {d = v} (fresh f v c)
  from-value c [] [] (step read-defer-emit Rw.◅ (step () Rw.◅ _)) st

  -- The first value must be fixed, and so must its inner streams (docs/deviations.md, 16).
  data Typed : Flags [] → Flags (t ∷ []) → Set where
    typed : ∀ {f} → Completeᵛ f v₀ → fixᵛ v₀ ≡ v₀ → Typed [] (f ∷ [])

  progress′ : ∀ {i o} → Typed i o → Progress (Operator.node read-defer) i o
  progress′ (typed {f} c own) = from-to (Operator.node read-defer)
    (subst (λ v → ProgressFrom (Operator.node read-defer) (just v₀ , []) (just v , []) (λ _ _ → ⊤) [] (f ∷ [])) own (from-value c))

  read : Graph [] (t ∷ [])
  read = op read-defer record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = progress′ }

module Write {t : Ty} where

  -- write_defer(k) takes no step: `nest` reads its buffer.
  data Fires : ⊤ × Vals (t ∷ []) → ⊤ × Vals (t ∷ []) → Deltas [] → Set where

  write-defer : Operator (t ∷ []) []
  write-defer = record
    { Expr = ⊤ ; begin = tt ; Fires = Fires ; fires = λ _ → [] ; rule = λ () ; complete = λ () }

  lawful′ : Lawful (Operator.node write-defer)
  lawful′ = record
    { terminates = falling (Operator.node write-defer) (λ _ → 0) (λ { () }) ; confluent = λ () ; eager = λ _ () }

  open Machine (Operator.node write-defer)

  -- Its buffer has its whole input.
  Written : Flag t → State → State → Set
  Written f (_ , c ∷ []) (_ , c′ ∷ []) = Completeᵛ f c × (c′ ≡ fixᵛ c)

  from-buffer : ∀ {f : Flag t} → ProgressFrom (Operator.node write-defer) (tt , ∅s) (tt , ∅s) (Written f) (f ∷ []) []
  from-buffer (c ∷ []) (p ∷ []) Rw.ε            st = [] , _ , Rw.ε , (λ { (step ()) }) , p , refl
  from-buffer (c ∷ []) (p ∷ []) (step () Rw.◅ _) st

  data Typed : Flags (t ∷ []) → Flags [] → Set where
    typed : ∀ {f} → outer f ≡ B → Typed (f ∷ []) []

  progress′ : ∀ {i o} → Typed i o → Progress (Operator.node write-defer) i o
  progress′ (typed _) = from-to (Operator.node write-defer) from-buffer

  write : Graph (t ∷ []) []
  write = op write-defer record { lawful = lawful′ ; _⊢ᴼ_ = Typed ; progress = progress′ }

------------------------------------------------------------------------
-- Bodies of `nest`: graphs in which streams are deferred under keys.

Key : Set
Key = String

infixl 4 _⨟_
infixl 6 _∥_

data Body : Tys → Tys → Set₁ where
  _⨟_         : ∀ {I M O} → Body I M → Body M O → Body I O
  _∥_         : ∀ {I O I′ O′} → Body I O → Body I′ O′ → Body (I ++ I′) (O ++ O′)
  plain       : ∀ {I O} → Graph I O → Body I O
  read-defer  : ∀ {t} → Key → Val t → Body [] (t ∷ [])
  write-defer : ∀ {t} → Key → Body (t ∷ []) []

graph : ∀ {I O} → Body I O → Graph I O
graph (b ⨟ c)           = graph b Graphs.⨟ graph c
graph (b ∥ c)           = graph b Graphs.∥ graph c
graph (plain g)         = g
graph (read-defer k v)  = Read.read v
graph (write-defer k)   = Write.write

State : ∀ {I O} → Body I O → Set
State b = Machine.State ⟦ graph b ⟧

-- R and W: keys and the types of streams (flo.core.stream_type.Context).
Context : Set
Context = List (Key × ∃ Flag)

infix 4 _∈_

data _∈_ {A : Set} (a : A) : List A → Set where
  here  : ∀ {as} → a ∈ (a ∷ as)
  there : ∀ {b as} → a ∈ as → a ∈ (b ∷ as)

-- R; W ⊢ e : I ↪ O (figure 10). W is split, so that each key is written once; R is for all.
data _⨾_⊢_∶_↪_ (R : Context) : Context → ∀ {I O} → Body I O → Flags I → Flags O → Set₁ where
  sequence : ∀ {W₁ W₂ I M O} {b : Body I M} {c : Body M O} {i m m′ o} →
    R ⨾ W₁ ⊢ b ∶ i ↪ m → R ⨾ W₂ ⊢ c ∶ m′ ↪ o → m ≤* m′ → R ⨾ (W₁ ++ W₂) ⊢ (b ⨟ c) ∶ i ↪ o
  par : ∀ {W₁ W₂ I O I′ O′} {b : Body I O} {c : Body I′ O′} {i o i′ o′} →
    R ⨾ W₁ ⊢ b ∶ i ↪ o → R ⨾ W₂ ⊢ c ∶ i′ ↪ o′ → R ⨾ (W₁ ++ W₂) ⊢ (b ∥ c) ∶ (i ·ᶠ i′) ↪ (o ·ᶠ o′)
  without-defers : ∀ {I O} {g : Graph I O} {i o} → ⊢ g ∶ i ↪ o → R ⨾ [] ⊢ plain g ∶ i ↪ o
  read-defer-value-type : ∀ {k t} {f : Flag t} {v} → (k , t , f) ∈ R → outer f ≡ B → Completeᵛ f v → fixᵛ v ≡ v →
    R ⨾ [] ⊢ read-defer k v ∶ [] ↪ (f ∷ [])
  write-defer-type : ∀ {k t} {f : Flag t} → outer f ≡ B → R ⨾ [ k , t , f ] ⊢ write-defer {t} k ∶ (f ∷ []) ↪ []

-- Such a body has its type as a graph, too.
as-graph : ∀ {R W I O} {b : Body I O} {i o} → R ⨾ W ⊢ b ∶ i ↪ o → ⊢ graph b ∶ i ↪ o
as-graph (sequence p q le)                  = sequence (as-graph p) (as-graph q) le
as-graph (par p q)                          = par (as-graph p) (as-graph q)
as-graph (without-defers p)                 = p
as-graph (read-defer-value-type _ _ c own)  = operator (Read.typed c own)
as-graph (write-defer-type b)               = operator (Write.typed b)

-- A key is in a context once.
Distinct : Context → Set
Distinct []            = ⊤
Distinct ((k , _) ∷ D) = (∀ {x} → ¬ ((k , x) ∈ D)) × Distinct D

-- A value for each key.
data Env : Context → Set where
  []  : Env []
  _∷_ : ∀ {k t f D} → Val t → Env D → Env ((k , t , f) ∷ D)

_·ᵉ_ : ∀ {D E} → Env D → Env E → Env (D ++ E)
[]      ·ᵉ N = N
(c ∷ M) ·ᵉ N = c ∷ (M ·ᵉ N)

find : ∀ {k t f D} → (k , t , f) ∈ D → Env D → Val t
find here      (c ∷ _) = c
find (there i) (_ ∷ M) = find i M

collect-defer : ∀ {R W I O} {b : Body I O} {i o} → R ⨾ W ⊢ b ∶ i ↪ o → State b → Env W
collect-defer (sequence p q _) (s , t)                  = collect-defer p s ·ᵉ collect-defer q t
collect-defer (par p q)        (s , t)                  = collect-defer p s ·ᵉ collect-defer q t
collect-defer (without-defers _) _                      = []
collect-defer (read-defer-value-type _ _ _ _) _         = []
collect-defer (write-defer-type _) (_ , c ∷ [])         = c ∷ []

set-defer : ∀ {R W I O} {b : Body I O} {i o} → R ⨾ W ⊢ b ∶ i ↪ o → Env R → State b
set-defer (sequence p q _) M                  = set-defer p M , set-defer q M
set-defer (par p q) M                         = set-defer p M , set-defer q M
set-defer (without-defers {g = g} _) M        = Machine.initial ⟦ g ⟧
set-defer (read-defer-value-type i _ _ _) M   = just (find i M) , []
set-defer (write-defer-type _) M              = tt , ∅s

AllFixedᵉ : ∀ {D} → Env D → Set
AllFixedᵉ []      = ⊤
AllFixedᵉ (c ∷ M) = Fixedᵛ c × AllFixedᵉ M

all-fixedᵉ? : ∀ {D} (M : Env D) → Dec (AllFixedᵉ M)
all-fixedᵉ? []      = yes tt
all-fixedᵉ? (c ∷ M) with fixedᵛ? c | all-fixedᵉ? M
... | yes p | yes q = yes (p , q)
... | no n  | _     = no λ { (p , _) → n p }
... | _     | no n  = no λ { (_ , q) → n q }

-- The body for the next inner stream, and whether all that it reads is fixed.
next-body : ∀ {D I O} {b : Body I O} {i o} → D ⨾ D ⊢ b ∶ i ↪ o → State b → State b
next-body d s = set-defer d (collect-defer d s)

is-ready : ∀ {D I O} {b : Body I O} {i o} → D ⨾ D ⊢ b ∶ i ↪ o → State b → Bool
is-ready d s = ⌊ all-fixedᵉ? (collect-defer d s) ⌋

------------------------------------------------------------------------
-- Progress of bodies, from what the inner stream before has deferred.

fixesᵉ : ∀ {D} → Env D → Env D
fixesᵉ []      = []
fixesᵉ (c ∷ M) = fixᵛ c ∷ fixesᵉ M

data Completeᵉ : ∀ {D} → Env D → Set where
  []  : Completeᵉ []
  _∷_ : ∀ {k t} {f : Flag t} {D c} {M : Env D} → Completeᵛ f c → Completeᵉ M → Completeᵉ (_∷_ {k} {t} {f} c M)

-- The states that a body begins with: without and with the ends of all streams.
Starts : ∀ {R W I O} {b : Body I O} {i o} → R ⨾ W ⊢ b ∶ i ↪ o → State b → State b → Set
Starts (sequence p q _) (s , t) (s′ , t′) = Starts p s s′ × Starts q t t′
Starts (par p q) (s , t) (s′ , t′)        = Starts p s s′ × Starts q t t′
Starts (without-defers {g = g} _) s s′    = (s ≡ Machine.initial ⟦ g ⟧) × (s′ ≡ Machine.initial ⟦ g ⟧)
Starts (read-defer-value-type {f = f} _ _ _ _) (m , []) (m′ , []) = ∃ λ v → Completeᵛ f v × (m ≡ just v) × (m′ ≡ just (fixᵛ v))
Starts (write-defer-type _) s s′          = (s ≡ (tt , ∅s)) × (s′ ≡ (tt , ∅s))

-- And those in which it is stuck.
Ends : ∀ {R W I O} {b : Body I O} {i o} → R ⨾ W ⊢ b ∶ i ↪ o → State b → State b → Set
Ends (sequence p q _) (s , t) (s′ , t′) = Ends p s s′ × Ends q t t′
Ends (par p q) (s , t) (s′ , t′)        = Ends p s s′ × Ends q t t′
Ends (without-defers _) s s′            = ⊤
Ends (read-defer-value-type _ _ _ _) s s′ = ⊤
Ends (write-defer-type {f = f} _) s s′  = Write.Written f s s′

starts-empty : ∀ {R W I O} {b : Body I O} {i o} (d : R ⨾ W ⊢ b ∶ i ↪ o) {s s′} → Starts d s s′ →
  (Machine.inputs ⟦ graph b ⟧ s ≡ ∅s) × (Machine.inputs ⟦ graph b ⟧ s′ ≡ ∅s)
starts-empty (sequence p q _) (x , _) = starts-empty p x
starts-empty (par {I = I} p q) (x , y) with starts-empty p x | starts-empty q y
... | a , a′ | c , c′ = trans (cong₂ _·_ a c) (∅s-· {I}) , trans (cong₂ _·_ a′ c′) (∅s-· {I})
starts-empty (without-defers {g = g} _) (refl , refl) = Machine.initial-empty ⟦ g ⟧ , Machine.initial-empty ⟦ g ⟧
starts-empty (read-defer-value-type _ _ _ _) {_ , []} {_ , []} _ = refl , refl
starts-empty (write-defer-type _) (refl , refl) = refl , refl

starts-initial : ∀ {R W I O} {b : Body I O} {i o} (d : R ⨾ W ⊢ b ∶ i ↪ o) →
  Starts d (Machine.initial ⟦ graph b ⟧) (Machine.initial ⟦ graph b ⟧)
starts-initial (sequence p q _) = starts-initial p , starts-initial q
starts-initial (par p q)        = starts-initial p , starts-initial q
starts-initial (without-defers _) = refl , refl
starts-initial (read-defer-value-type _ _ c own) = _ , c , refl , cong just (sym own)
starts-initial (write-defer-type _) = refl , refl

complete-find : ∀ {k t f D} (i : (k , t , f) ∈ D) {M : Env D} → Completeᵉ M → Completeᵛ f (find i M)
complete-find here      (c ∷ _)  = c
complete-find (there i) (_ ∷ cs) = complete-find i cs

find-fixes : ∀ {k t f D} (i : (k , t , f) ∈ D) (M : Env D) → find i (fixesᵉ M) ≡ fixᵛ (find i M)
find-fixes here      (c ∷ _) = refl
find-fixes (there i) (_ ∷ M) = find-fixes i M

starts-set : ∀ {R W I O} {b : Body I O} {i o} (d : R ⨾ W ⊢ b ∶ i ↪ o) {M} → Completeᵉ M →
  Starts d (set-defer d M) (set-defer d (fixesᵉ M))
starts-set (sequence p q _) c = starts-set p c , starts-set q c
starts-set (par p q)        c = starts-set p c , starts-set q c
starts-set (without-defers _) c = refl , refl
starts-set (read-defer-value-type i _ _ _) {M} c = _ , complete-find i c , refl , cong just (find-fixes i M)
starts-set (write-defer-type _) c = refl , refl

complete-·ᵉ : ∀ {D E} {M : Env D} {N : Env E} → Completeᵉ M → Completeᵉ N → Completeᵉ (M ·ᵉ N)
complete-·ᵉ []       d = d
complete-·ᵉ (c ∷ cs) d = c ∷ complete-·ᵉ cs d

fixes-·ᵉ : ∀ {D E} (M : Env D) (N : Env E) → fixesᵉ (M ·ᵉ N) ≡ fixesᵉ M ·ᵉ fixesᵉ N
fixes-·ᵉ []      N = refl
fixes-·ᵉ (c ∷ M) N = cong (fixᵛ c ∷_) (fixes-·ᵉ M N)

fixed-·ᵉ : ∀ {D E} (M : Env D) {N : Env E} → AllFixedᵉ M → AllFixedᵉ N → AllFixedᵉ (M ·ᵉ N)
fixed-·ᵉ []      _        q = q
fixed-·ᵉ (c ∷ M) (p , ps) q = p , fixed-·ᵉ M ps q

-- What two stuck bodies have deferred: the same, but for the ends of inner streams; and it is fixed.
record Deferred {D} (M N : Env D) : Set where
  constructor deferred
  field
    complete : Completeᵉ M
    ended    : N ≡ fixesᵉ M
    fixed    : AllFixedᵉ M
    fixed′   : AllFixedᵉ N

both : ∀ {D E} {M M′ : Env D} {N N′ : Env E} → Deferred M M′ → Deferred N N′ → Deferred (M ·ᵉ N) (M′ ·ᵉ N′)
both {M = M} {M′} {N} (deferred c refl f f′) (deferred c₂ refl f₂ f₂′) =
  deferred (complete-·ᵉ c c₂) (sym (fixes-·ᵉ M N)) (fixed-·ᵉ M f f₂) (fixed-·ᵉ M′ f′ f₂′)

collected : ∀ {R W I O} {b : Body I O} {i o} (d : R ⨾ W ⊢ b ∶ i ↪ o) {s t} → Ends d s t → Deferred (collect-defer d s) (collect-defer d t)
collected (sequence p q _) (x , y) = both (collected p x) (collected q y)
collected (par p q)        (x , y) = both (collected p x) (collected q y)
collected (without-defers _) _     = deferred [] refl tt tt
collected (read-defer-value-type _ _ _ _) _ = deferred [] refl tt tt
collected (write-defer-type {f = f} b) {_ , c ∷ []} {_ , .(fixᵛ c) ∷ []} (p , refl) =
  deferred (p ∷ []) refl (fixed-if f c p b , tt) (fixᵛ-fixes c , tt)

ready : ∀ {D I O} {b : Body I O} {i o} (d : D ⨾ D ⊢ b ∶ i ↪ o) {s} → AllFixedᵉ (collect-defer d s) → is-ready d s ≡ true
ready d {s} f with all-fixedᵉ? (collect-defer d s)
... | yes _ = refl
... | no n  = ⊥-elim (n f)

starts-next : ∀ {D I O} {b : Body I O} {i o} (d : D ⨾ D ⊢ b ∶ i ↪ o) {s t} → Ends d s t → Starts d (next-body d s) (next-body d t)
starts-next d {s} {t} e with collect-defer d t | collected d e
... | _ | deferred c refl _ _ = starts-set d c

body-progress : ∀ {R W I O} {b : Body I O} {i o} (d : R ⨾ W ⊢ b ∶ i ↪ o) {s₀ s₁} → Starts d s₀ s₁ →
  ProgressFrom ⟦ graph b ⟧ s₀ s₁ (Ends d) i o
body-progress (sequence {b = b} {c} p q le) (x , y) =
  sequence-from ⟦ graph b ⟧ ⟦ graph c ⟧ (lawful (graph b)) (lawful (graph c)) (proj₁ (starts-empty q y)) (proj₂ (starts-empty q y))
    (body-progress p x) le (body-progress q y)
body-progress (par {b = b} {c} p q) (x , y) =
  par-from ⟦ graph b ⟧ ⟦ graph c ⟧ (lawful (graph b)) (lawful (graph c)) (body-progress p x) (body-progress q y)
body-progress (without-defers {g = g} p) (refl , refl) = to-from ⟦ g ⟧ (progress p)
body-progress (read-defer-value-type {v = v₀} _ _ _ _) {_ , []} {_ , []} (v , c , refl , refl) = Read.from-value v₀ c
body-progress (write-defer-type _) (refl , refl) = Write.from-buffer
