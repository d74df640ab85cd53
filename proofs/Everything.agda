{-# OPTIONS --safe #-}

-- All of the development: `make proofs` checks this module.

module Everything where

import Flo.Collection
import Flo.Collections.LVar
import Flo.Collections.Sequence
import Flo.Collections.Weighted
import Flo.Composition
import Flo.Defer
import Flo.DeferKeys
import Flo.Deviations
import Flo.Erasure
import Flo.Expected
import Flo.FiniteMap
import Flo.Graph
import Flo.Language
import Flo.Machine
import Flo.Nest
import Flo.NestProgress
import Flo.Operators.Join
import Flo.Operators.OnElements
import Flo.Operators.OnSequences
import Flo.Operators.Threshold
import Flo.Operators.Thresholds
import Flo.Operators.Union
import Flo.Operators.Wire
import Flo.Preservation
import Flo.Progress
import Flo.Recursion
import Flo.Rewriting
import Flo.Runs
import Flo.Value
