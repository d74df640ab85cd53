{-# OPTIONS --safe #-}

-- What the programs of Flo/Runs.agda reach. `make expected` writes this file.

module Flo.Expected where

open import Agda.Builtin.String using (String)
open import Data.List using (List; []; _∷_)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)

open import Flo.Runs using (report)

expected : List String
expected =
  "# map" ∷
  "{[]}map > [] + 2 -- arrive -> {[1,2]}map > [] + 1" ∷
  "{[1,2]}map > [] + 1 -- arrive -> {[1,2,2]*}map > [] + 0" ∷
  "{[1,2]}map > [] + 1 -- operator.map -> {[2]}map > [2] + 1" ∷
  "{[1,2,2]*}map > [] + 0 -- operator.map -> {[2,2]*}map > [2] + 0" ∷
  "{[2]}map > [2] + 1 -- arrive -> {[2,2]*}map > [2] + 0" ∷
  "{[2]}map > [2] + 1 -- operator.map -> {[]}map > [2,3] + 1" ∷
  "{[2,2]*}map > [2] + 0 -- operator.map -> {[2]*}map > [2,3] + 0" ∷
  "{[]}map > [2,3] + 1 -- arrive -> {[2]*}map > [2,3] + 0" ∷
  "{[2]*}map > [2,3] + 0 -- operator.map -> {[]*}map > [2,3,3] + 0" ∷
  "{[]*}map > [2,3,3] + 0 -- operator.map-terminator -> {[]!}map > [2,3,3]* + 0" ∷
  "{[]!}map > [2,3,3]* + 0 is stuck" ∷
  "# filter" ∷
  "{[]}filter > [] + 2 -- arrive -> {[1,2]}filter > [] + 1" ∷
  "{[1,2]}filter > [] + 1 -- arrive -> {[1,2,2]*}filter > [] + 0" ∷
  "{[1,2]}filter > [] + 1 -- operator.filter -> {[2]}filter > [] + 1" ∷
  "{[1,2,2]*}filter > [] + 0 -- operator.filter -> {[2,2]*}filter > [] + 0" ∷
  "{[2]}filter > [] + 1 -- arrive -> {[2,2]*}filter > [] + 0" ∷
  "{[2]}filter > [] + 1 -- operator.filter -> {[]}filter > [2] + 1" ∷
  "{[2,2]*}filter > [] + 0 -- operator.filter -> {[2]*}filter > [2] + 0" ∷
  "{[]}filter > [2] + 1 -- arrive -> {[2]*}filter > [2] + 0" ∷
  "{[2]*}filter > [2] + 0 -- operator.filter -> {[]*}filter > [2,2] + 0" ∷
  "{[]*}filter > [2,2] + 0 -- operator.filter-terminator -> {[]!}filter > [2,2]* + 0" ∷
  "{[]!}filter > [2,2]* + 0 is stuck" ∷
  "# scan" ∷
  "{[]}scan(0) > [] + 2 -- arrive -> {[1,2]}scan(0) > [] + 1" ∷
  "{[1,2]}scan(0) > [] + 1 -- arrive -> {[1,2,2]*}scan(0) > [] + 0" ∷
  "{[1,2]}scan(0) > [] + 1 -- operator.scan -> {[2]}scan(1) > [1] + 1" ∷
  "{[1,2,2]*}scan(0) > [] + 0 -- operator.scan -> {[2,2]*}scan(1) > [1] + 0" ∷
  "{[2]}scan(1) > [1] + 1 -- arrive -> {[2,2]*}scan(1) > [1] + 0" ∷
  "{[2]}scan(1) > [1] + 1 -- operator.scan -> {[]}scan(3) > [1,3] + 1" ∷
  "{[2,2]*}scan(1) > [1] + 0 -- operator.scan -> {[2]*}scan(3) > [1,3] + 0" ∷
  "{[]}scan(3) > [1,3] + 1 -- arrive -> {[2]*}scan(3) > [1,3] + 0" ∷
  "{[2]*}scan(3) > [1,3] + 0 -- operator.scan -> {[]*}scan(5) > [1,3,5] + 0" ∷
  "{[]*}scan(5) > [1,3,5] + 0 -- operator.scan-terminator -> {[]!}scan(5) > [1,3,5]* + 0" ∷
  "{[]!}scan(5) > [1,3,5]* + 0 is stuck" ∷
  "# fold" ∷
  "{[]}fold(0) > [] + 2 -- arrive -> {[1,2]}fold(0) > [] + 1" ∷
  "{[1,2]}fold(0) > [] + 1 -- arrive -> {[1,2,2]*}fold(0) > [] + 0" ∷
  "{[1,2]}fold(0) > [] + 1 -- operator.fold -> {[2]}fold(1) > [] + 1" ∷
  "{[1,2,2]*}fold(0) > [] + 0 -- operator.fold -> {[2,2]*}fold(1) > [] + 0" ∷
  "{[2]}fold(1) > [] + 1 -- arrive -> {[2,2]*}fold(1) > [] + 0" ∷
  "{[2]}fold(1) > [] + 1 -- operator.fold -> {[]}fold(3) > [] + 1" ∷
  "{[2,2]*}fold(1) > [] + 0 -- operator.fold -> {[2]*}fold(3) > [] + 0" ∷
  "{[]}fold(3) > [] + 1 -- arrive -> {[2]*}fold(3) > [] + 0" ∷
  "{[2]*}fold(3) > [] + 0 -- operator.fold -> {[]*}fold(5) > [] + 0" ∷
  "{[]*}fold(5) > [] + 0 -- operator.fold-terminator -> {[]!}fold(5) > [5]* + 0" ∷
  "{[]!}fold(5) > [5]* + 0 is stuck" ∷
  "# tee" ∷
  "{[]}tee > [],[] + 2 -- arrive -> {[1,2]}tee > [],[] + 1" ∷
  "{[1,2]}tee > [],[] + 1 -- arrive -> {[1,2,2]*}tee > [],[] + 0" ∷
  "{[1,2]}tee > [],[] + 1 -- operator.tee -> {[]}tee > [1,2],[1,2] + 1" ∷
  "{[1,2,2]*}tee > [],[] + 0 -- operator.tee -> {[]!}tee > [1,2,2]*,[1,2,2]* + 0" ∷
  "{[]}tee > [1,2],[1,2] + 1 -- arrive -> {[2]*}tee > [1,2],[1,2] + 0" ∷
  "{[]!}tee > [1,2,2]*,[1,2,2]* + 0 is stuck" ∷
  "{[2]*}tee > [1,2],[1,2] + 0 -- operator.tee -> {[]!}tee > [1,2,2]*,[1,2,2]* + 0" ∷
  "# drop" ∷
  "{[]}drop >  + 2 -- arrive -> {[1,2]}drop >  + 1" ∷
  "{[1,2]}drop >  + 1 -- arrive -> {[1,2,2]*}drop >  + 0" ∷
  "{[1,2]}drop >  + 1 -- operator.drop -> {[]}drop >  + 1" ∷
  "{[1,2,2]*}drop >  + 0 -- operator.drop -> {[]!}drop >  + 0" ∷
  "{[]}drop >  + 1 -- arrive -> {[2]*}drop >  + 0" ∷
  "{[]!}drop >  + 0 is stuck" ∷
  "{[2]*}drop >  + 0 -- operator.drop -> {[]!}drop >  + 0" ∷
  "# map_set" ∷
  "{<>}map_set > <> + 2 -- arrive -> {<1,2>}map_set > <> + 1" ∷
  "{<1,2>}map_set > <> + 1 -- arrive -> {<1,2>*}map_set > <> + 0" ∷
  "{<1,2>}map_set > <> + 1 -- operator.map-set -> {<1>}map_set > <3> + 1" ∷
  "{<1,2>}map_set > <> + 1 -- operator.map-set -> {<2>}map_set > <2> + 1" ∷
  "{<1,2>*}map_set > <> + 0 -- operator.map-set -> {<1>*}map_set > <3> + 0" ∷
  "{<1,2>*}map_set > <> + 0 -- operator.map-set -> {<2>*}map_set > <2> + 0" ∷
  "{<1>}map_set > <3> + 1 -- arrive -> {<1,2>*}map_set > <3> + 0" ∷
  "{<1>}map_set > <3> + 1 -- operator.map-set -> {<>}map_set > <2,3> + 1" ∷
  "{<2>}map_set > <2> + 1 -- arrive -> {<2>*}map_set > <2> + 0" ∷
  "{<2>}map_set > <2> + 1 -- operator.map-set -> {<>}map_set > <2,3> + 1" ∷
  "{<1>*}map_set > <3> + 0 -- operator.map-set -> {<>*}map_set > <2,3> + 0" ∷
  "{<2>*}map_set > <2> + 0 -- operator.map-set -> {<>*}map_set > <2,3> + 0" ∷
  "{<1,2>*}map_set > <3> + 0 -- operator.map-set -> {<1>*}map_set > <3> + 0" ∷
  "{<1,2>*}map_set > <3> + 0 -- operator.map-set -> {<2>*}map_set > <2,3> + 0" ∷
  "{<>}map_set > <2,3> + 1 -- arrive -> {<2>*}map_set > <2,3> + 0" ∷
  "{<>*}map_set > <2,3> + 0 -- operator.map-set-terminated -> {<>!}map_set > <2,3>* + 0" ∷
  "{<2>*}map_set > <2,3> + 0 -- operator.map-set -> {<>*}map_set > <2,3> + 0" ∷
  "{<>!}map_set > <2,3>* + 0 is stuck" ∷
  "# filter_set" ∷
  "{<>}filter_set > <> + 2 -- arrive -> {<1,2>}filter_set > <> + 1" ∷
  "{<1,2>}filter_set > <> + 1 -- arrive -> {<1,2>*}filter_set > <> + 0" ∷
  "{<1,2>}filter_set > <> + 1 -- operator.filter-set -> {<1>}filter_set > <2> + 1" ∷
  "{<1,2>}filter_set > <> + 1 -- operator.filter-set -> {<2>}filter_set > <> + 1" ∷
  "{<1,2>*}filter_set > <> + 0 -- operator.filter-set -> {<1>*}filter_set > <2> + 0" ∷
  "{<1,2>*}filter_set > <> + 0 -- operator.filter-set -> {<2>*}filter_set > <> + 0" ∷
  "{<1>}filter_set > <2> + 1 -- arrive -> {<1,2>*}filter_set > <2> + 0" ∷
  "{<1>}filter_set > <2> + 1 -- operator.filter-set -> {<>}filter_set > <2> + 1" ∷
  "{<2>}filter_set > <> + 1 -- arrive -> {<2>*}filter_set > <> + 0" ∷
  "{<2>}filter_set > <> + 1 -- operator.filter-set -> {<>}filter_set > <2> + 1" ∷
  "{<1>*}filter_set > <2> + 0 -- operator.filter-set -> {<>*}filter_set > <2> + 0" ∷
  "{<2>*}filter_set > <> + 0 -- operator.filter-set -> {<>*}filter_set > <2> + 0" ∷
  "{<1,2>*}filter_set > <2> + 0 -- operator.filter-set -> {<1>*}filter_set > <2> + 0" ∷
  "{<1,2>*}filter_set > <2> + 0 -- operator.filter-set -> {<2>*}filter_set > <2> + 0" ∷
  "{<>}filter_set > <2> + 1 -- arrive -> {<2>*}filter_set > <2> + 0" ∷
  "{<>*}filter_set > <2> + 0 -- operator.filter-set-terminated -> {<>!}filter_set > <2>* + 0" ∷
  "{<2>*}filter_set > <2> + 0 -- operator.filter-set -> {<>*}filter_set > <2> + 0" ∷
  "{<>!}filter_set > <2>* + 0 is stuck" ∷
  "# tee_set" ∷
  "{<>}tee_set > <>,<> + 2 -- arrive -> {<1,2>}tee_set > <>,<> + 1" ∷
  "{<1,2>}tee_set > <>,<> + 1 -- arrive -> {<1,2>*}tee_set > <>,<> + 0" ∷
  "{<1,2>}tee_set > <>,<> + 1 -- operator.tee -> {<>}tee_set > <1,2>,<1,2> + 1" ∷
  "{<1,2>*}tee_set > <>,<> + 0 -- operator.tee -> {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>}tee_set > <1,2>,<1,2> + 1 -- arrive -> {<2>*}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>!}tee_set > <1,2>*,<1,2>* + 0 is stuck" ∷
  "{<2>*}tee_set > <1,2>,<1,2> + 0 -- operator.tee -> {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "# union_sets" ∷
  "{<>,<>}union_sets > <> + 2 -- arrive -> {<1,2>,<1,2>}union_sets > <> + 1" ∷
  "{<1,2>,<1,2>}union_sets > <> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets > <> + 0" ∷
  "{<1,2>,<1,2>}union_sets > <> + 1 -- operator.union-set-left -> {<1>,<1,2>}union_sets > <2> + 1" ∷
  "{<1,2>,<1,2>}union_sets > <> + 1 -- operator.union-set-left -> {<2>,<1,2>}union_sets > <1> + 1" ∷
  "{<1,2>,<1,2>}union_sets > <> + 1 -- operator.union-set-right -> {<1,2>,<1>}union_sets > <2> + 1" ∷
  "{<1,2>,<1,2>}union_sets > <> + 1 -- operator.union-set-right -> {<1,2>,<2>}union_sets > <1> + 1" ∷
  "{<1,2>*,<1,2>*}union_sets > <> + 0 -- operator.union-set-left -> {<1>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <> + 0 -- operator.union-set-left -> {<2>*,<1,2>*}union_sets > <1> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <> + 0 -- operator.union-set-right -> {<1,2>*,<1>*}union_sets > <2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <> + 0 -- operator.union-set-right -> {<1,2>*,<2>*}union_sets > <1> + 0" ∷
  "{<1>,<1,2>}union_sets > <2> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<1>,<1,2>}union_sets > <2> + 1 -- operator.union-set-left -> {<>,<1,2>}union_sets > <1,2> + 1" ∷
  "{<1>,<1,2>}union_sets > <2> + 1 -- operator.union-set-right -> {<1>,<1>}union_sets > <2> + 1" ∷
  "{<1>,<1,2>}union_sets > <2> + 1 -- operator.union-set-right -> {<1>,<2>}union_sets > <1,2> + 1" ∷
  "{<2>,<1,2>}union_sets > <1> + 1 -- arrive -> {<2>*,<1,2>*}union_sets > <1> + 0" ∷
  "{<2>,<1,2>}union_sets > <1> + 1 -- operator.union-set-left -> {<>,<1,2>}union_sets > <1,2> + 1" ∷
  "{<2>,<1,2>}union_sets > <1> + 1 -- operator.union-set-right -> {<2>,<1>}union_sets > <1,2> + 1" ∷
  "{<2>,<1,2>}union_sets > <1> + 1 -- operator.union-set-right -> {<2>,<2>}union_sets > <1> + 1" ∷
  "{<1,2>,<1>}union_sets > <2> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<1,2>,<1>}union_sets > <2> + 1 -- operator.union-set-left -> {<1>,<1>}union_sets > <2> + 1" ∷
  "{<1,2>,<1>}union_sets > <2> + 1 -- operator.union-set-left -> {<2>,<1>}union_sets > <1,2> + 1" ∷
  "{<1,2>,<1>}union_sets > <2> + 1 -- operator.union-set-right -> {<1,2>,<>}union_sets > <1,2> + 1" ∷
  "{<1,2>,<2>}union_sets > <1> + 1 -- arrive -> {<1,2>*,<2>*}union_sets > <1> + 0" ∷
  "{<1,2>,<2>}union_sets > <1> + 1 -- operator.union-set-left -> {<1>,<2>}union_sets > <1,2> + 1" ∷
  "{<1,2>,<2>}union_sets > <1> + 1 -- operator.union-set-left -> {<2>,<2>}union_sets > <1> + 1" ∷
  "{<1,2>,<2>}union_sets > <1> + 1 -- operator.union-set-right -> {<1,2>,<>}union_sets > <1,2> + 1" ∷
  "{<1>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-left -> {<>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1>*,<1>*}union_sets > <2> + 0" ∷
  "{<1>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1> + 0 -- operator.union-set-left -> {<>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1> + 0 -- operator.union-set-right -> {<2>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1> + 0 -- operator.union-set-right -> {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<1,2>*,<1>*}union_sets > <2> + 0 -- operator.union-set-left -> {<1>*,<1>*}union_sets > <2> + 0" ∷
  "{<1,2>*,<1>*}union_sets > <2> + 0 -- operator.union-set-left -> {<2>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<1>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1,2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1> + 0 -- operator.union-set-left -> {<1>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1> + 0 -- operator.union-set-left -> {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1> + 0 -- operator.union-set-right -> {<1,2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-left -> {<1>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-left -> {<2>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1,2>*,<1>*}union_sets > <2> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1,2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>,<1,2>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<>,<1,2>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<>,<1>}union_sets > <1,2> + 1" ∷
  "{<>,<1,2>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<>,<2>}union_sets > <1,2> + 1" ∷
  "{<1>,<1>}union_sets > <2> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<1>,<1>}union_sets > <2> + 1 -- operator.union-set-left -> {<>,<1>}union_sets > <1,2> + 1" ∷
  "{<1>,<1>}union_sets > <2> + 1 -- operator.union-set-right -> {<1>,<>}union_sets > <1,2> + 1" ∷
  "{<1>,<2>}union_sets > <1,2> + 1 -- arrive -> {<1,2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1>,<2>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<>,<2>}union_sets > <1,2> + 1" ∷
  "{<1>,<2>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<1>,<>}union_sets > <1,2> + 1" ∷
  "{<2>,<1>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<2>,<1>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<>,<1>}union_sets > <1,2> + 1" ∷
  "{<2>,<1>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<2>,<>}union_sets > <1,2> + 1" ∷
  "{<2>,<2>}union_sets > <1> + 1 -- arrive -> {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<2>,<2>}union_sets > <1> + 1 -- operator.union-set-left -> {<>,<2>}union_sets > <1,2> + 1" ∷
  "{<2>,<2>}union_sets > <1> + 1 -- operator.union-set-right -> {<2>,<>}union_sets > <1,2> + 1" ∷
  "{<1,2>,<>}union_sets > <1,2> + 1 -- arrive -> {<1,2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>,<>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<1>,<>}union_sets > <1,2> + 1" ∷
  "{<1,2>,<>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<2>,<>}union_sets > <1,2> + 1" ∷
  "{<>*,<1,2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>*,<1,2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<1>*}union_sets > <2> + 0 -- operator.union-set-left -> {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<1>*}union_sets > <2> + 0 -- operator.union-set-right -> {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<2>*}union_sets > <1> + 0 -- operator.union-set-left -> {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<2>*}union_sets > <1> + 0 -- operator.union-set-right -> {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<2>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<1,2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<1>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1,2>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<1,2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>,<1>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<>,<1>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<>,<>}union_sets > <1,2> + 1" ∷
  "{<>,<2>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>,<2>}union_sets > <1,2> + 1 -- operator.union-set-right -> {<>,<>}union_sets > <1,2> + 1" ∷
  "{<1>,<>}union_sets > <1,2> + 1 -- arrive -> {<1,2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<1>,<>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<>,<>}union_sets > <1,2> + 1" ∷
  "{<2>,<>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<2>,<>}union_sets > <1,2> + 1 -- operator.union-set-left -> {<>,<>}union_sets > <1,2> + 1" ∷
  "{<>*,<1>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<1>*,<>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-left -> {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<2>*,<2>*}union_sets > <1,2> + 0 -- operator.union-set-right -> {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>,<>}union_sets > <1,2> + 1 -- arrive -> {<2>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>*,<>*}union_sets > <1,2> + 0 -- operator.union-set-terminated -> {<>!,<>!}union_sets > <1,2>* + 0" ∷
  "{<>!,<>!}union_sets > <1,2>* + 0 is stuck" ∷
  "# map; map" ∷
  "{[]}map; {[]}map > [] + 2 -- arrive -> {[1]}map; {[]}map > [] + 1" ∷
  "{[1]}map; {[]}map > [] + 1 -- arrive -> {[1,2]*}map; {[]}map > [] + 0" ∷
  "{[1]}map; {[]}map > [] + 1 -- sequence-left.operator.map -> {[]}map; {[2]}map > [] + 1" ∷
  "{[1,2]*}map; {[]}map > [] + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}map > [] + 0" ∷
  "{[]}map; {[2]}map > [] + 1 -- arrive -> {[2]*}map; {[2]}map > [] + 0" ∷
  "{[]}map; {[2]}map > [] + 1 -- sequence-right.operator.map -> {[]}map; {[]}map > [3] + 1" ∷
  "{[2]*}map; {[2]}map > [] + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}map > [] + 0" ∷
  "{[2]*}map; {[2]}map > [] + 0 -- sequence-right.operator.map -> {[2]*}map; {[]}map > [3] + 0" ∷
  "{[]}map; {[]}map > [3] + 1 -- arrive -> {[2]*}map; {[]}map > [3] + 0" ∷
  "{[]*}map; {[2,3]}map > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}map > [] + 0" ∷
  "{[]*}map; {[2,3]}map > [] + 0 -- sequence-right.operator.map -> {[]*}map; {[3]}map > [3] + 0" ∷
  "{[2]*}map; {[]}map > [3] + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}map > [3] + 0" ∷
  "{[]!}map; {[2,3]*}map > [] + 0 -- sequence-right.operator.map -> {[]!}map; {[3]*}map > [3] + 0" ∷
  "{[]*}map; {[3]}map > [3] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}map > [3] + 0" ∷
  "{[]*}map; {[3]}map > [3] + 0 -- sequence-right.operator.map -> {[]*}map; {[]}map > [3,4] + 0" ∷
  "{[]!}map; {[3]*}map > [3] + 0 -- sequence-right.operator.map -> {[]!}map; {[]*}map > [3,4] + 0" ∷
  "{[]*}map; {[]}map > [3,4] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}map > [3,4] + 0" ∷
  "{[]!}map; {[]*}map > [3,4] + 0 -- sequence-right.operator.map-terminator -> {[]!}map; {[]!}map > [3,4]* + 0" ∷
  "{[]!}map; {[]!}map > [3,4]* + 0 is stuck" ∷
  "# map; filter" ∷
  "{[]}map; {[]}filter > [] + 2 -- arrive -> {[1]}map; {[]}filter > [] + 1" ∷
  "{[1]}map; {[]}filter > [] + 1 -- arrive -> {[1,2]*}map; {[]}filter > [] + 0" ∷
  "{[1]}map; {[]}filter > [] + 1 -- sequence-left.operator.map -> {[]}map; {[2]}filter > [] + 1" ∷
  "{[1,2]*}map; {[]}filter > [] + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}filter > [] + 0" ∷
  "{[]}map; {[2]}filter > [] + 1 -- arrive -> {[2]*}map; {[2]}filter > [] + 0" ∷
  "{[]}map; {[2]}filter > [] + 1 -- sequence-right.operator.filter -> {[]}map; {[]}filter > [2] + 1" ∷
  "{[2]*}map; {[2]}filter > [] + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}filter > [] + 0" ∷
  "{[2]*}map; {[2]}filter > [] + 0 -- sequence-right.operator.filter -> {[2]*}map; {[]}filter > [2] + 0" ∷
  "{[]}map; {[]}filter > [2] + 1 -- arrive -> {[2]*}map; {[]}filter > [2] + 0" ∷
  "{[]*}map; {[2,3]}filter > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}filter > [] + 0" ∷
  "{[]*}map; {[2,3]}filter > [] + 0 -- sequence-right.operator.filter -> {[]*}map; {[3]}filter > [2] + 0" ∷
  "{[2]*}map; {[]}filter > [2] + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}filter > [2] + 0" ∷
  "{[]!}map; {[2,3]*}filter > [] + 0 -- sequence-right.operator.filter -> {[]!}map; {[3]*}filter > [2] + 0" ∷
  "{[]*}map; {[3]}filter > [2] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}filter > [2] + 0" ∷
  "{[]*}map; {[3]}filter > [2] + 0 -- sequence-right.operator.filter -> {[]*}map; {[]}filter > [2] + 0" ∷
  "{[]!}map; {[3]*}filter > [2] + 0 -- sequence-right.operator.filter -> {[]!}map; {[]*}filter > [2] + 0" ∷
  "{[]*}map; {[]}filter > [2] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}filter > [2] + 0" ∷
  "{[]!}map; {[]*}filter > [2] + 0 -- sequence-right.operator.filter-terminator -> {[]!}map; {[]!}filter > [2]* + 0" ∷
  "{[]!}map; {[]!}filter > [2]* + 0 is stuck" ∷
  "# map; scan" ∷
  "{[]}map; {[]}scan(0) > [] + 2 -- arrive -> {[1]}map; {[]}scan(0) > [] + 1" ∷
  "{[1]}map; {[]}scan(0) > [] + 1 -- arrive -> {[1,2]*}map; {[]}scan(0) > [] + 0" ∷
  "{[1]}map; {[]}scan(0) > [] + 1 -- sequence-left.operator.map -> {[]}map; {[2]}scan(0) > [] + 1" ∷
  "{[1,2]*}map; {[]}scan(0) > [] + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}scan(0) > [] + 0" ∷
  "{[]}map; {[2]}scan(0) > [] + 1 -- arrive -> {[2]*}map; {[2]}scan(0) > [] + 0" ∷
  "{[]}map; {[2]}scan(0) > [] + 1 -- sequence-right.operator.scan -> {[]}map; {[]}scan(2) > [2] + 1" ∷
  "{[2]*}map; {[2]}scan(0) > [] + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}scan(0) > [] + 0" ∷
  "{[2]*}map; {[2]}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[2]*}map; {[]}scan(2) > [2] + 0" ∷
  "{[]}map; {[]}scan(2) > [2] + 1 -- arrive -> {[2]*}map; {[]}scan(2) > [2] + 0" ∷
  "{[]*}map; {[2,3]}scan(0) > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}scan(0) > [] + 0" ∷
  "{[]*}map; {[2,3]}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]*}map; {[3]}scan(2) > [2] + 0" ∷
  "{[2]*}map; {[]}scan(2) > [2] + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}scan(2) > [2] + 0" ∷
  "{[]!}map; {[2,3]*}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]!}map; {[3]*}scan(2) > [2] + 0" ∷
  "{[]*}map; {[3]}scan(2) > [2] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}scan(2) > [2] + 0" ∷
  "{[]*}map; {[3]}scan(2) > [2] + 0 -- sequence-right.operator.scan -> {[]*}map; {[]}scan(5) > [2,5] + 0" ∷
  "{[]!}map; {[3]*}scan(2) > [2] + 0 -- sequence-right.operator.scan -> {[]!}map; {[]*}scan(5) > [2,5] + 0" ∷
  "{[]*}map; {[]}scan(5) > [2,5] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}scan(5) > [2,5] + 0" ∷
  "{[]!}map; {[]*}scan(5) > [2,5] + 0 -- sequence-right.operator.scan-terminator -> {[]!}map; {[]!}scan(5) > [2,5]* + 0" ∷
  "{[]!}map; {[]!}scan(5) > [2,5]* + 0 is stuck" ∷
  "# map; fold" ∷
  "{[]}map; {[]}fold(0) > [] + 2 -- arrive -> {[1]}map; {[]}fold(0) > [] + 1" ∷
  "{[1]}map; {[]}fold(0) > [] + 1 -- arrive -> {[1,2]*}map; {[]}fold(0) > [] + 0" ∷
  "{[1]}map; {[]}fold(0) > [] + 1 -- sequence-left.operator.map -> {[]}map; {[2]}fold(0) > [] + 1" ∷
  "{[1,2]*}map; {[]}fold(0) > [] + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}fold(0) > [] + 0" ∷
  "{[]}map; {[2]}fold(0) > [] + 1 -- arrive -> {[2]*}map; {[2]}fold(0) > [] + 0" ∷
  "{[]}map; {[2]}fold(0) > [] + 1 -- sequence-right.operator.fold -> {[]}map; {[]}fold(2) > [] + 1" ∷
  "{[2]*}map; {[2]}fold(0) > [] + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}fold(0) > [] + 0" ∷
  "{[2]*}map; {[2]}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[2]*}map; {[]}fold(2) > [] + 0" ∷
  "{[]}map; {[]}fold(2) > [] + 1 -- arrive -> {[2]*}map; {[]}fold(2) > [] + 0" ∷
  "{[]*}map; {[2,3]}fold(0) > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}fold(0) > [] + 0" ∷
  "{[]*}map; {[2,3]}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]*}map; {[3]}fold(2) > [] + 0" ∷
  "{[2]*}map; {[]}fold(2) > [] + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}fold(2) > [] + 0" ∷
  "{[]!}map; {[2,3]*}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]!}map; {[3]*}fold(2) > [] + 0" ∷
  "{[]*}map; {[3]}fold(2) > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}fold(2) > [] + 0" ∷
  "{[]*}map; {[3]}fold(2) > [] + 0 -- sequence-right.operator.fold -> {[]*}map; {[]}fold(5) > [] + 0" ∷
  "{[]!}map; {[3]*}fold(2) > [] + 0 -- sequence-right.operator.fold -> {[]!}map; {[]*}fold(5) > [] + 0" ∷
  "{[]*}map; {[]}fold(5) > [] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}fold(5) > [] + 0" ∷
  "{[]!}map; {[]*}fold(5) > [] + 0 -- sequence-right.operator.fold-terminator -> {[]!}map; {[]!}fold(5) > [5]* + 0" ∷
  "{[]!}map; {[]!}fold(5) > [5]* + 0 is stuck" ∷
  "# map; tee" ∷
  "{[]}map; {[]}tee > [],[] + 2 -- arrive -> {[1]}map; {[]}tee > [],[] + 1" ∷
  "{[1]}map; {[]}tee > [],[] + 1 -- arrive -> {[1,2]*}map; {[]}tee > [],[] + 0" ∷
  "{[1]}map; {[]}tee > [],[] + 1 -- sequence-left.operator.map -> {[]}map; {[2]}tee > [],[] + 1" ∷
  "{[1,2]*}map; {[]}tee > [],[] + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}tee > [],[] + 0" ∷
  "{[]}map; {[2]}tee > [],[] + 1 -- arrive -> {[2]*}map; {[2]}tee > [],[] + 0" ∷
  "{[]}map; {[2]}tee > [],[] + 1 -- sequence-right.operator.tee -> {[]}map; {[]}tee > [2],[2] + 1" ∷
  "{[2]*}map; {[2]}tee > [],[] + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}tee > [],[] + 0" ∷
  "{[2]*}map; {[2]}tee > [],[] + 0 -- sequence-right.operator.tee -> {[2]*}map; {[]}tee > [2],[2] + 0" ∷
  "{[]}map; {[]}tee > [2],[2] + 1 -- arrive -> {[2]*}map; {[]}tee > [2],[2] + 0" ∷
  "{[]*}map; {[2,3]}tee > [],[] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}tee > [],[] + 0" ∷
  "{[]*}map; {[2,3]}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]*}map; {[]}tee > [2,3],[2,3] + 0" ∷
  "{[2]*}map; {[]}tee > [2],[2] + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}tee > [2],[2] + 0" ∷
  "{[]!}map; {[2,3]*}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]!}map; {[]!}tee > [2,3]*,[2,3]* + 0" ∷
  "{[]*}map; {[]}tee > [2,3],[2,3] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}tee > [2,3],[2,3] + 0" ∷
  "{[]*}map; {[3]}tee > [2],[2] + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}tee > [2],[2] + 0" ∷
  "{[]*}map; {[3]}tee > [2],[2] + 0 -- sequence-right.operator.tee -> {[]*}map; {[]}tee > [2,3],[2,3] + 0" ∷
  "{[]!}map; {[]!}tee > [2,3]*,[2,3]* + 0 is stuck" ∷
  "{[]!}map; {[]*}tee > [2,3],[2,3] + 0 -- sequence-right.operator.tee -> {[]!}map; {[]!}tee > [2,3]*,[2,3]* + 0" ∷
  "{[]!}map; {[3]*}tee > [2],[2] + 0 -- sequence-right.operator.tee -> {[]!}map; {[]!}tee > [2,3]*,[2,3]* + 0" ∷
  "# map; drop" ∷
  "{[]}map; {[]}drop >  + 2 -- arrive -> {[1]}map; {[]}drop >  + 1" ∷
  "{[1]}map; {[]}drop >  + 1 -- arrive -> {[1,2]*}map; {[]}drop >  + 0" ∷
  "{[1]}map; {[]}drop >  + 1 -- sequence-left.operator.map -> {[]}map; {[2]}drop >  + 1" ∷
  "{[1,2]*}map; {[]}drop >  + 0 -- sequence-left.operator.map -> {[2]*}map; {[2]}drop >  + 0" ∷
  "{[]}map; {[2]}drop >  + 1 -- arrive -> {[2]*}map; {[2]}drop >  + 0" ∷
  "{[]}map; {[2]}drop >  + 1 -- sequence-right.operator.drop -> {[]}map; {[]}drop >  + 1" ∷
  "{[2]*}map; {[2]}drop >  + 0 -- sequence-left.operator.map -> {[]*}map; {[2,3]}drop >  + 0" ∷
  "{[2]*}map; {[2]}drop >  + 0 -- sequence-right.operator.drop -> {[2]*}map; {[]}drop >  + 0" ∷
  "{[]}map; {[]}drop >  + 1 -- arrive -> {[2]*}map; {[]}drop >  + 0" ∷
  "{[]*}map; {[2,3]}drop >  + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[2,3]*}drop >  + 0" ∷
  "{[]*}map; {[2,3]}drop >  + 0 -- sequence-right.operator.drop -> {[]*}map; {[]}drop >  + 0" ∷
  "{[2]*}map; {[]}drop >  + 0 -- sequence-left.operator.map -> {[]*}map; {[3]}drop >  + 0" ∷
  "{[]!}map; {[2,3]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}map; {[]!}drop >  + 0" ∷
  "{[]*}map; {[]}drop >  + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[]*}drop >  + 0" ∷
  "{[]*}map; {[3]}drop >  + 0 -- sequence-left.operator.map-terminator -> {[]!}map; {[3]*}drop >  + 0" ∷
  "{[]*}map; {[3]}drop >  + 0 -- sequence-right.operator.drop -> {[]*}map; {[]}drop >  + 0" ∷
  "{[]!}map; {[]!}drop >  + 0 is stuck" ∷
  "{[]!}map; {[]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}map; {[]!}drop >  + 0" ∷
  "{[]!}map; {[3]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}map; {[]!}drop >  + 0" ∷
  "# filter; map" ∷
  "{[]}filter; {[]}map > [] + 2 -- arrive -> {[1]}filter; {[]}map > [] + 1" ∷
  "{[1]}filter; {[]}map > [] + 1 -- arrive -> {[1,2]*}filter; {[]}map > [] + 0" ∷
  "{[1]}filter; {[]}map > [] + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}map > [] + 1" ∷
  "{[1,2]*}filter; {[]}map > [] + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}map > [] + 0" ∷
  "{[]}filter; {[]}map > [] + 1 -- arrive -> {[2]*}filter; {[]}map > [] + 0" ∷
  "{[2]*}filter; {[]}map > [] + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}map > [] + 0" ∷
  "{[]*}filter; {[2]}map > [] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}map > [] + 0" ∷
  "{[]*}filter; {[2]}map > [] + 0 -- sequence-right.operator.map -> {[]*}filter; {[]}map > [3] + 0" ∷
  "{[]!}filter; {[2]*}map > [] + 0 -- sequence-right.operator.map -> {[]!}filter; {[]*}map > [3] + 0" ∷
  "{[]*}filter; {[]}map > [3] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}map > [3] + 0" ∷
  "{[]!}filter; {[]*}map > [3] + 0 -- sequence-right.operator.map-terminator -> {[]!}filter; {[]!}map > [3]* + 0" ∷
  "{[]!}filter; {[]!}map > [3]* + 0 is stuck" ∷
  "# filter; filter" ∷
  "{[]}filter; {[]}filter > [] + 2 -- arrive -> {[1]}filter; {[]}filter > [] + 1" ∷
  "{[1]}filter; {[]}filter > [] + 1 -- arrive -> {[1,2]*}filter; {[]}filter > [] + 0" ∷
  "{[1]}filter; {[]}filter > [] + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}filter > [] + 1" ∷
  "{[1,2]*}filter; {[]}filter > [] + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}filter > [] + 0" ∷
  "{[]}filter; {[]}filter > [] + 1 -- arrive -> {[2]*}filter; {[]}filter > [] + 0" ∷
  "{[2]*}filter; {[]}filter > [] + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}filter > [] + 0" ∷
  "{[]*}filter; {[2]}filter > [] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}filter > [] + 0" ∷
  "{[]*}filter; {[2]}filter > [] + 0 -- sequence-right.operator.filter -> {[]*}filter; {[]}filter > [2] + 0" ∷
  "{[]!}filter; {[2]*}filter > [] + 0 -- sequence-right.operator.filter -> {[]!}filter; {[]*}filter > [2] + 0" ∷
  "{[]*}filter; {[]}filter > [2] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}filter > [2] + 0" ∷
  "{[]!}filter; {[]*}filter > [2] + 0 -- sequence-right.operator.filter-terminator -> {[]!}filter; {[]!}filter > [2]* + 0" ∷
  "{[]!}filter; {[]!}filter > [2]* + 0 is stuck" ∷
  "# filter; scan" ∷
  "{[]}filter; {[]}scan(0) > [] + 2 -- arrive -> {[1]}filter; {[]}scan(0) > [] + 1" ∷
  "{[1]}filter; {[]}scan(0) > [] + 1 -- arrive -> {[1,2]*}filter; {[]}scan(0) > [] + 0" ∷
  "{[1]}filter; {[]}scan(0) > [] + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}scan(0) > [] + 1" ∷
  "{[1,2]*}filter; {[]}scan(0) > [] + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}scan(0) > [] + 0" ∷
  "{[]}filter; {[]}scan(0) > [] + 1 -- arrive -> {[2]*}filter; {[]}scan(0) > [] + 0" ∷
  "{[2]*}filter; {[]}scan(0) > [] + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}scan(0) > [] + 0" ∷
  "{[]*}filter; {[2]}scan(0) > [] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}scan(0) > [] + 0" ∷
  "{[]*}filter; {[2]}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]*}filter; {[]}scan(2) > [2] + 0" ∷
  "{[]!}filter; {[2]*}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]!}filter; {[]*}scan(2) > [2] + 0" ∷
  "{[]*}filter; {[]}scan(2) > [2] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}scan(2) > [2] + 0" ∷
  "{[]!}filter; {[]*}scan(2) > [2] + 0 -- sequence-right.operator.scan-terminator -> {[]!}filter; {[]!}scan(2) > [2]* + 0" ∷
  "{[]!}filter; {[]!}scan(2) > [2]* + 0 is stuck" ∷
  "# filter; fold" ∷
  "{[]}filter; {[]}fold(0) > [] + 2 -- arrive -> {[1]}filter; {[]}fold(0) > [] + 1" ∷
  "{[1]}filter; {[]}fold(0) > [] + 1 -- arrive -> {[1,2]*}filter; {[]}fold(0) > [] + 0" ∷
  "{[1]}filter; {[]}fold(0) > [] + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}fold(0) > [] + 1" ∷
  "{[1,2]*}filter; {[]}fold(0) > [] + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}fold(0) > [] + 0" ∷
  "{[]}filter; {[]}fold(0) > [] + 1 -- arrive -> {[2]*}filter; {[]}fold(0) > [] + 0" ∷
  "{[2]*}filter; {[]}fold(0) > [] + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}fold(0) > [] + 0" ∷
  "{[]*}filter; {[2]}fold(0) > [] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}fold(0) > [] + 0" ∷
  "{[]*}filter; {[2]}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]*}filter; {[]}fold(2) > [] + 0" ∷
  "{[]!}filter; {[2]*}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]!}filter; {[]*}fold(2) > [] + 0" ∷
  "{[]*}filter; {[]}fold(2) > [] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}fold(2) > [] + 0" ∷
  "{[]!}filter; {[]*}fold(2) > [] + 0 -- sequence-right.operator.fold-terminator -> {[]!}filter; {[]!}fold(2) > [2]* + 0" ∷
  "{[]!}filter; {[]!}fold(2) > [2]* + 0 is stuck" ∷
  "# filter; tee" ∷
  "{[]}filter; {[]}tee > [],[] + 2 -- arrive -> {[1]}filter; {[]}tee > [],[] + 1" ∷
  "{[1]}filter; {[]}tee > [],[] + 1 -- arrive -> {[1,2]*}filter; {[]}tee > [],[] + 0" ∷
  "{[1]}filter; {[]}tee > [],[] + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}tee > [],[] + 1" ∷
  "{[1,2]*}filter; {[]}tee > [],[] + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}tee > [],[] + 0" ∷
  "{[]}filter; {[]}tee > [],[] + 1 -- arrive -> {[2]*}filter; {[]}tee > [],[] + 0" ∷
  "{[2]*}filter; {[]}tee > [],[] + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}tee > [],[] + 0" ∷
  "{[]*}filter; {[2]}tee > [],[] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}tee > [],[] + 0" ∷
  "{[]*}filter; {[2]}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]*}filter; {[]}tee > [2],[2] + 0" ∷
  "{[]!}filter; {[2]*}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]!}filter; {[]!}tee > [2]*,[2]* + 0" ∷
  "{[]*}filter; {[]}tee > [2],[2] + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}tee > [2],[2] + 0" ∷
  "{[]!}filter; {[]!}tee > [2]*,[2]* + 0 is stuck" ∷
  "{[]!}filter; {[]*}tee > [2],[2] + 0 -- sequence-right.operator.tee -> {[]!}filter; {[]!}tee > [2]*,[2]* + 0" ∷
  "# filter; drop" ∷
  "{[]}filter; {[]}drop >  + 2 -- arrive -> {[1]}filter; {[]}drop >  + 1" ∷
  "{[1]}filter; {[]}drop >  + 1 -- arrive -> {[1,2]*}filter; {[]}drop >  + 0" ∷
  "{[1]}filter; {[]}drop >  + 1 -- sequence-left.operator.filter -> {[]}filter; {[]}drop >  + 1" ∷
  "{[1,2]*}filter; {[]}drop >  + 0 -- sequence-left.operator.filter -> {[2]*}filter; {[]}drop >  + 0" ∷
  "{[]}filter; {[]}drop >  + 1 -- arrive -> {[2]*}filter; {[]}drop >  + 0" ∷
  "{[2]*}filter; {[]}drop >  + 0 -- sequence-left.operator.filter -> {[]*}filter; {[2]}drop >  + 0" ∷
  "{[]*}filter; {[2]}drop >  + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[2]*}drop >  + 0" ∷
  "{[]*}filter; {[2]}drop >  + 0 -- sequence-right.operator.drop -> {[]*}filter; {[]}drop >  + 0" ∷
  "{[]!}filter; {[2]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}filter; {[]!}drop >  + 0" ∷
  "{[]*}filter; {[]}drop >  + 0 -- sequence-left.operator.filter-terminator -> {[]!}filter; {[]*}drop >  + 0" ∷
  "{[]!}filter; {[]!}drop >  + 0 is stuck" ∷
  "{[]!}filter; {[]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}filter; {[]!}drop >  + 0" ∷
  "# scan; map" ∷
  "{[]}scan(0); {[]}map > [] + 2 -- arrive -> {[1]}scan(0); {[]}map > [] + 1" ∷
  "{[1]}scan(0); {[]}map > [] + 1 -- arrive -> {[1,2]*}scan(0); {[]}map > [] + 0" ∷
  "{[1]}scan(0); {[]}map > [] + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}map > [] + 1" ∷
  "{[1,2]*}scan(0); {[]}map > [] + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}map > [] + 0" ∷
  "{[]}scan(1); {[1]}map > [] + 1 -- arrive -> {[2]*}scan(1); {[1]}map > [] + 0" ∷
  "{[]}scan(1); {[1]}map > [] + 1 -- sequence-right.operator.map -> {[]}scan(1); {[]}map > [2] + 1" ∷
  "{[2]*}scan(1); {[1]}map > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}map > [] + 0" ∷
  "{[2]*}scan(1); {[1]}map > [] + 0 -- sequence-right.operator.map -> {[2]*}scan(1); {[]}map > [2] + 0" ∷
  "{[]}scan(1); {[]}map > [2] + 1 -- arrive -> {[2]*}scan(1); {[]}map > [2] + 0" ∷
  "{[]*}scan(3); {[1,3]}map > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}map > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}map > [] + 0 -- sequence-right.operator.map -> {[]*}scan(3); {[3]}map > [2] + 0" ∷
  "{[2]*}scan(1); {[]}map > [2] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}map > [2] + 0" ∷
  "{[]!}scan(3); {[1,3]*}map > [] + 0 -- sequence-right.operator.map -> {[]!}scan(3); {[3]*}map > [2] + 0" ∷
  "{[]*}scan(3); {[3]}map > [2] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}map > [2] + 0" ∷
  "{[]*}scan(3); {[3]}map > [2] + 0 -- sequence-right.operator.map -> {[]*}scan(3); {[]}map > [2,4] + 0" ∷
  "{[]!}scan(3); {[3]*}map > [2] + 0 -- sequence-right.operator.map -> {[]!}scan(3); {[]*}map > [2,4] + 0" ∷
  "{[]*}scan(3); {[]}map > [2,4] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}map > [2,4] + 0" ∷
  "{[]!}scan(3); {[]*}map > [2,4] + 0 -- sequence-right.operator.map-terminator -> {[]!}scan(3); {[]!}map > [2,4]* + 0" ∷
  "{[]!}scan(3); {[]!}map > [2,4]* + 0 is stuck" ∷
  "# scan; filter" ∷
  "{[]}scan(0); {[]}filter > [] + 2 -- arrive -> {[1]}scan(0); {[]}filter > [] + 1" ∷
  "{[1]}scan(0); {[]}filter > [] + 1 -- arrive -> {[1,2]*}scan(0); {[]}filter > [] + 0" ∷
  "{[1]}scan(0); {[]}filter > [] + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}filter > [] + 1" ∷
  "{[1,2]*}scan(0); {[]}filter > [] + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}filter > [] + 0" ∷
  "{[]}scan(1); {[1]}filter > [] + 1 -- arrive -> {[2]*}scan(1); {[1]}filter > [] + 0" ∷
  "{[]}scan(1); {[1]}filter > [] + 1 -- sequence-right.operator.filter -> {[]}scan(1); {[]}filter > [] + 1" ∷
  "{[2]*}scan(1); {[1]}filter > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}filter > [] + 0" ∷
  "{[2]*}scan(1); {[1]}filter > [] + 0 -- sequence-right.operator.filter -> {[2]*}scan(1); {[]}filter > [] + 0" ∷
  "{[]}scan(1); {[]}filter > [] + 1 -- arrive -> {[2]*}scan(1); {[]}filter > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}filter > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}filter > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}filter > [] + 0 -- sequence-right.operator.filter -> {[]*}scan(3); {[3]}filter > [] + 0" ∷
  "{[2]*}scan(1); {[]}filter > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}filter > [] + 0" ∷
  "{[]!}scan(3); {[1,3]*}filter > [] + 0 -- sequence-right.operator.filter -> {[]!}scan(3); {[3]*}filter > [] + 0" ∷
  "{[]*}scan(3); {[3]}filter > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}filter > [] + 0" ∷
  "{[]*}scan(3); {[3]}filter > [] + 0 -- sequence-right.operator.filter -> {[]*}scan(3); {[]}filter > [] + 0" ∷
  "{[]!}scan(3); {[3]*}filter > [] + 0 -- sequence-right.operator.filter -> {[]!}scan(3); {[]*}filter > [] + 0" ∷
  "{[]*}scan(3); {[]}filter > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}filter > [] + 0" ∷
  "{[]!}scan(3); {[]*}filter > [] + 0 -- sequence-right.operator.filter-terminator -> {[]!}scan(3); {[]!}filter > []* + 0" ∷
  "{[]!}scan(3); {[]!}filter > []* + 0 is stuck" ∷
  "# scan; scan" ∷
  "{[]}scan(0); {[]}scan(0) > [] + 2 -- arrive -> {[1]}scan(0); {[]}scan(0) > [] + 1" ∷
  "{[1]}scan(0); {[]}scan(0) > [] + 1 -- arrive -> {[1,2]*}scan(0); {[]}scan(0) > [] + 0" ∷
  "{[1]}scan(0); {[]}scan(0) > [] + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}scan(0) > [] + 1" ∷
  "{[1,2]*}scan(0); {[]}scan(0) > [] + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}scan(0) > [] + 0" ∷
  "{[]}scan(1); {[1]}scan(0) > [] + 1 -- arrive -> {[2]*}scan(1); {[1]}scan(0) > [] + 0" ∷
  "{[]}scan(1); {[1]}scan(0) > [] + 1 -- sequence-right.operator.scan -> {[]}scan(1); {[]}scan(1) > [1] + 1" ∷
  "{[2]*}scan(1); {[1]}scan(0) > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}scan(0) > [] + 0" ∷
  "{[2]*}scan(1); {[1]}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[2]*}scan(1); {[]}scan(1) > [1] + 0" ∷
  "{[]}scan(1); {[]}scan(1) > [1] + 1 -- arrive -> {[2]*}scan(1); {[]}scan(1) > [1] + 0" ∷
  "{[]*}scan(3); {[1,3]}scan(0) > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}scan(0) > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]*}scan(3); {[3]}scan(1) > [1] + 0" ∷
  "{[2]*}scan(1); {[]}scan(1) > [1] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}scan(1) > [1] + 0" ∷
  "{[]!}scan(3); {[1,3]*}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]!}scan(3); {[3]*}scan(1) > [1] + 0" ∷
  "{[]*}scan(3); {[3]}scan(1) > [1] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}scan(1) > [1] + 0" ∷
  "{[]*}scan(3); {[3]}scan(1) > [1] + 0 -- sequence-right.operator.scan -> {[]*}scan(3); {[]}scan(4) > [1,4] + 0" ∷
  "{[]!}scan(3); {[3]*}scan(1) > [1] + 0 -- sequence-right.operator.scan -> {[]!}scan(3); {[]*}scan(4) > [1,4] + 0" ∷
  "{[]*}scan(3); {[]}scan(4) > [1,4] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}scan(4) > [1,4] + 0" ∷
  "{[]!}scan(3); {[]*}scan(4) > [1,4] + 0 -- sequence-right.operator.scan-terminator -> {[]!}scan(3); {[]!}scan(4) > [1,4]* + 0" ∷
  "{[]!}scan(3); {[]!}scan(4) > [1,4]* + 0 is stuck" ∷
  "# scan; fold" ∷
  "{[]}scan(0); {[]}fold(0) > [] + 2 -- arrive -> {[1]}scan(0); {[]}fold(0) > [] + 1" ∷
  "{[1]}scan(0); {[]}fold(0) > [] + 1 -- arrive -> {[1,2]*}scan(0); {[]}fold(0) > [] + 0" ∷
  "{[1]}scan(0); {[]}fold(0) > [] + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}fold(0) > [] + 1" ∷
  "{[1,2]*}scan(0); {[]}fold(0) > [] + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}fold(0) > [] + 0" ∷
  "{[]}scan(1); {[1]}fold(0) > [] + 1 -- arrive -> {[2]*}scan(1); {[1]}fold(0) > [] + 0" ∷
  "{[]}scan(1); {[1]}fold(0) > [] + 1 -- sequence-right.operator.fold -> {[]}scan(1); {[]}fold(1) > [] + 1" ∷
  "{[2]*}scan(1); {[1]}fold(0) > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}fold(0) > [] + 0" ∷
  "{[2]*}scan(1); {[1]}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[2]*}scan(1); {[]}fold(1) > [] + 0" ∷
  "{[]}scan(1); {[]}fold(1) > [] + 1 -- arrive -> {[2]*}scan(1); {[]}fold(1) > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}fold(0) > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}fold(0) > [] + 0" ∷
  "{[]*}scan(3); {[1,3]}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]*}scan(3); {[3]}fold(1) > [] + 0" ∷
  "{[2]*}scan(1); {[]}fold(1) > [] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}fold(1) > [] + 0" ∷
  "{[]!}scan(3); {[1,3]*}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]!}scan(3); {[3]*}fold(1) > [] + 0" ∷
  "{[]*}scan(3); {[3]}fold(1) > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}fold(1) > [] + 0" ∷
  "{[]*}scan(3); {[3]}fold(1) > [] + 0 -- sequence-right.operator.fold -> {[]*}scan(3); {[]}fold(4) > [] + 0" ∷
  "{[]!}scan(3); {[3]*}fold(1) > [] + 0 -- sequence-right.operator.fold -> {[]!}scan(3); {[]*}fold(4) > [] + 0" ∷
  "{[]*}scan(3); {[]}fold(4) > [] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}fold(4) > [] + 0" ∷
  "{[]!}scan(3); {[]*}fold(4) > [] + 0 -- sequence-right.operator.fold-terminator -> {[]!}scan(3); {[]!}fold(4) > [4]* + 0" ∷
  "{[]!}scan(3); {[]!}fold(4) > [4]* + 0 is stuck" ∷
  "# scan; tee" ∷
  "{[]}scan(0); {[]}tee > [],[] + 2 -- arrive -> {[1]}scan(0); {[]}tee > [],[] + 1" ∷
  "{[1]}scan(0); {[]}tee > [],[] + 1 -- arrive -> {[1,2]*}scan(0); {[]}tee > [],[] + 0" ∷
  "{[1]}scan(0); {[]}tee > [],[] + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}tee > [],[] + 1" ∷
  "{[1,2]*}scan(0); {[]}tee > [],[] + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}tee > [],[] + 0" ∷
  "{[]}scan(1); {[1]}tee > [],[] + 1 -- arrive -> {[2]*}scan(1); {[1]}tee > [],[] + 0" ∷
  "{[]}scan(1); {[1]}tee > [],[] + 1 -- sequence-right.operator.tee -> {[]}scan(1); {[]}tee > [1],[1] + 1" ∷
  "{[2]*}scan(1); {[1]}tee > [],[] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}tee > [],[] + 0" ∷
  "{[2]*}scan(1); {[1]}tee > [],[] + 0 -- sequence-right.operator.tee -> {[2]*}scan(1); {[]}tee > [1],[1] + 0" ∷
  "{[]}scan(1); {[]}tee > [1],[1] + 1 -- arrive -> {[2]*}scan(1); {[]}tee > [1],[1] + 0" ∷
  "{[]*}scan(3); {[1,3]}tee > [],[] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}tee > [],[] + 0" ∷
  "{[]*}scan(3); {[1,3]}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]*}scan(3); {[]}tee > [1,3],[1,3] + 0" ∷
  "{[2]*}scan(1); {[]}tee > [1],[1] + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}tee > [1],[1] + 0" ∷
  "{[]!}scan(3); {[1,3]*}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]!}scan(3); {[]!}tee > [1,3]*,[1,3]* + 0" ∷
  "{[]*}scan(3); {[]}tee > [1,3],[1,3] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}tee > [1,3],[1,3] + 0" ∷
  "{[]*}scan(3); {[3]}tee > [1],[1] + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}tee > [1],[1] + 0" ∷
  "{[]*}scan(3); {[3]}tee > [1],[1] + 0 -- sequence-right.operator.tee -> {[]*}scan(3); {[]}tee > [1,3],[1,3] + 0" ∷
  "{[]!}scan(3); {[]!}tee > [1,3]*,[1,3]* + 0 is stuck" ∷
  "{[]!}scan(3); {[]*}tee > [1,3],[1,3] + 0 -- sequence-right.operator.tee -> {[]!}scan(3); {[]!}tee > [1,3]*,[1,3]* + 0" ∷
  "{[]!}scan(3); {[3]*}tee > [1],[1] + 0 -- sequence-right.operator.tee -> {[]!}scan(3); {[]!}tee > [1,3]*,[1,3]* + 0" ∷
  "# scan; drop" ∷
  "{[]}scan(0); {[]}drop >  + 2 -- arrive -> {[1]}scan(0); {[]}drop >  + 1" ∷
  "{[1]}scan(0); {[]}drop >  + 1 -- arrive -> {[1,2]*}scan(0); {[]}drop >  + 0" ∷
  "{[1]}scan(0); {[]}drop >  + 1 -- sequence-left.operator.scan -> {[]}scan(1); {[1]}drop >  + 1" ∷
  "{[1,2]*}scan(0); {[]}drop >  + 0 -- sequence-left.operator.scan -> {[2]*}scan(1); {[1]}drop >  + 0" ∷
  "{[]}scan(1); {[1]}drop >  + 1 -- arrive -> {[2]*}scan(1); {[1]}drop >  + 0" ∷
  "{[]}scan(1); {[1]}drop >  + 1 -- sequence-right.operator.drop -> {[]}scan(1); {[]}drop >  + 1" ∷
  "{[2]*}scan(1); {[1]}drop >  + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[1,3]}drop >  + 0" ∷
  "{[2]*}scan(1); {[1]}drop >  + 0 -- sequence-right.operator.drop -> {[2]*}scan(1); {[]}drop >  + 0" ∷
  "{[]}scan(1); {[]}drop >  + 1 -- arrive -> {[2]*}scan(1); {[]}drop >  + 0" ∷
  "{[]*}scan(3); {[1,3]}drop >  + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[1,3]*}drop >  + 0" ∷
  "{[]*}scan(3); {[1,3]}drop >  + 0 -- sequence-right.operator.drop -> {[]*}scan(3); {[]}drop >  + 0" ∷
  "{[2]*}scan(1); {[]}drop >  + 0 -- sequence-left.operator.scan -> {[]*}scan(3); {[3]}drop >  + 0" ∷
  "{[]!}scan(3); {[1,3]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}scan(3); {[]!}drop >  + 0" ∷
  "{[]*}scan(3); {[]}drop >  + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[]*}drop >  + 0" ∷
  "{[]*}scan(3); {[3]}drop >  + 0 -- sequence-left.operator.scan-terminator -> {[]!}scan(3); {[3]*}drop >  + 0" ∷
  "{[]*}scan(3); {[3]}drop >  + 0 -- sequence-right.operator.drop -> {[]*}scan(3); {[]}drop >  + 0" ∷
  "{[]!}scan(3); {[]!}drop >  + 0 is stuck" ∷
  "{[]!}scan(3); {[]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}scan(3); {[]!}drop >  + 0" ∷
  "{[]!}scan(3); {[3]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}scan(3); {[]!}drop >  + 0" ∷
  "# fold; map" ∷
  "{[]}fold(0); {[]}map > [] + 2 -- arrive -> {[1]}fold(0); {[]}map > [] + 1" ∷
  "{[1]}fold(0); {[]}map > [] + 1 -- arrive -> {[1,2]*}fold(0); {[]}map > [] + 0" ∷
  "{[1]}fold(0); {[]}map > [] + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}map > [] + 1" ∷
  "{[1,2]*}fold(0); {[]}map > [] + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}map > [] + 0" ∷
  "{[]}fold(1); {[]}map > [] + 1 -- arrive -> {[2]*}fold(1); {[]}map > [] + 0" ∷
  "{[2]*}fold(1); {[]}map > [] + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}map > [] + 0" ∷
  "{[]*}fold(3); {[]}map > [] + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}map > [] + 0" ∷
  "{[]!}fold(3); {[3]*}map > [] + 0 -- sequence-right.operator.map -> {[]!}fold(3); {[]*}map > [4] + 0" ∷
  "{[]!}fold(3); {[]*}map > [4] + 0 -- sequence-right.operator.map-terminator -> {[]!}fold(3); {[]!}map > [4]* + 0" ∷
  "{[]!}fold(3); {[]!}map > [4]* + 0 is stuck" ∷
  "# fold; filter" ∷
  "{[]}fold(0); {[]}filter > [] + 2 -- arrive -> {[1]}fold(0); {[]}filter > [] + 1" ∷
  "{[1]}fold(0); {[]}filter > [] + 1 -- arrive -> {[1,2]*}fold(0); {[]}filter > [] + 0" ∷
  "{[1]}fold(0); {[]}filter > [] + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}filter > [] + 1" ∷
  "{[1,2]*}fold(0); {[]}filter > [] + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}filter > [] + 0" ∷
  "{[]}fold(1); {[]}filter > [] + 1 -- arrive -> {[2]*}fold(1); {[]}filter > [] + 0" ∷
  "{[2]*}fold(1); {[]}filter > [] + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}filter > [] + 0" ∷
  "{[]*}fold(3); {[]}filter > [] + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}filter > [] + 0" ∷
  "{[]!}fold(3); {[3]*}filter > [] + 0 -- sequence-right.operator.filter -> {[]!}fold(3); {[]*}filter > [] + 0" ∷
  "{[]!}fold(3); {[]*}filter > [] + 0 -- sequence-right.operator.filter-terminator -> {[]!}fold(3); {[]!}filter > []* + 0" ∷
  "{[]!}fold(3); {[]!}filter > []* + 0 is stuck" ∷
  "# fold; scan" ∷
  "{[]}fold(0); {[]}scan(0) > [] + 2 -- arrive -> {[1]}fold(0); {[]}scan(0) > [] + 1" ∷
  "{[1]}fold(0); {[]}scan(0) > [] + 1 -- arrive -> {[1,2]*}fold(0); {[]}scan(0) > [] + 0" ∷
  "{[1]}fold(0); {[]}scan(0) > [] + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}scan(0) > [] + 1" ∷
  "{[1,2]*}fold(0); {[]}scan(0) > [] + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}scan(0) > [] + 0" ∷
  "{[]}fold(1); {[]}scan(0) > [] + 1 -- arrive -> {[2]*}fold(1); {[]}scan(0) > [] + 0" ∷
  "{[2]*}fold(1); {[]}scan(0) > [] + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}scan(0) > [] + 0" ∷
  "{[]*}fold(3); {[]}scan(0) > [] + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}scan(0) > [] + 0" ∷
  "{[]!}fold(3); {[3]*}scan(0) > [] + 0 -- sequence-right.operator.scan -> {[]!}fold(3); {[]*}scan(3) > [3] + 0" ∷
  "{[]!}fold(3); {[]*}scan(3) > [3] + 0 -- sequence-right.operator.scan-terminator -> {[]!}fold(3); {[]!}scan(3) > [3]* + 0" ∷
  "{[]!}fold(3); {[]!}scan(3) > [3]* + 0 is stuck" ∷
  "# fold; fold" ∷
  "{[]}fold(0); {[]}fold(0) > [] + 2 -- arrive -> {[1]}fold(0); {[]}fold(0) > [] + 1" ∷
  "{[1]}fold(0); {[]}fold(0) > [] + 1 -- arrive -> {[1,2]*}fold(0); {[]}fold(0) > [] + 0" ∷
  "{[1]}fold(0); {[]}fold(0) > [] + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}fold(0) > [] + 1" ∷
  "{[1,2]*}fold(0); {[]}fold(0) > [] + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}fold(0) > [] + 0" ∷
  "{[]}fold(1); {[]}fold(0) > [] + 1 -- arrive -> {[2]*}fold(1); {[]}fold(0) > [] + 0" ∷
  "{[2]*}fold(1); {[]}fold(0) > [] + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}fold(0) > [] + 0" ∷
  "{[]*}fold(3); {[]}fold(0) > [] + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}fold(0) > [] + 0" ∷
  "{[]!}fold(3); {[3]*}fold(0) > [] + 0 -- sequence-right.operator.fold -> {[]!}fold(3); {[]*}fold(3) > [] + 0" ∷
  "{[]!}fold(3); {[]*}fold(3) > [] + 0 -- sequence-right.operator.fold-terminator -> {[]!}fold(3); {[]!}fold(3) > [3]* + 0" ∷
  "{[]!}fold(3); {[]!}fold(3) > [3]* + 0 is stuck" ∷
  "# fold; tee" ∷
  "{[]}fold(0); {[]}tee > [],[] + 2 -- arrive -> {[1]}fold(0); {[]}tee > [],[] + 1" ∷
  "{[1]}fold(0); {[]}tee > [],[] + 1 -- arrive -> {[1,2]*}fold(0); {[]}tee > [],[] + 0" ∷
  "{[1]}fold(0); {[]}tee > [],[] + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}tee > [],[] + 1" ∷
  "{[1,2]*}fold(0); {[]}tee > [],[] + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}tee > [],[] + 0" ∷
  "{[]}fold(1); {[]}tee > [],[] + 1 -- arrive -> {[2]*}fold(1); {[]}tee > [],[] + 0" ∷
  "{[2]*}fold(1); {[]}tee > [],[] + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}tee > [],[] + 0" ∷
  "{[]*}fold(3); {[]}tee > [],[] + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}tee > [],[] + 0" ∷
  "{[]!}fold(3); {[3]*}tee > [],[] + 0 -- sequence-right.operator.tee -> {[]!}fold(3); {[]!}tee > [3]*,[3]* + 0" ∷
  "{[]!}fold(3); {[]!}tee > [3]*,[3]* + 0 is stuck" ∷
  "# fold; drop" ∷
  "{[]}fold(0); {[]}drop >  + 2 -- arrive -> {[1]}fold(0); {[]}drop >  + 1" ∷
  "{[1]}fold(0); {[]}drop >  + 1 -- arrive -> {[1,2]*}fold(0); {[]}drop >  + 0" ∷
  "{[1]}fold(0); {[]}drop >  + 1 -- sequence-left.operator.fold -> {[]}fold(1); {[]}drop >  + 1" ∷
  "{[1,2]*}fold(0); {[]}drop >  + 0 -- sequence-left.operator.fold -> {[2]*}fold(1); {[]}drop >  + 0" ∷
  "{[]}fold(1); {[]}drop >  + 1 -- arrive -> {[2]*}fold(1); {[]}drop >  + 0" ∷
  "{[2]*}fold(1); {[]}drop >  + 0 -- sequence-left.operator.fold -> {[]*}fold(3); {[]}drop >  + 0" ∷
  "{[]*}fold(3); {[]}drop >  + 0 -- sequence-left.operator.fold-terminator -> {[]!}fold(3); {[3]*}drop >  + 0" ∷
  "{[]!}fold(3); {[3]*}drop >  + 0 -- sequence-right.operator.drop -> {[]!}fold(3); {[]!}drop >  + 0" ∷
  "{[]!}fold(3); {[]!}drop >  + 0 is stuck" ∷
  "# map_set; map_set" ∷
  "{<>}map_set; {<>}map_set > <> + 2 -- arrive -> {<1>}map_set; {<>}map_set > <> + 1" ∷
  "{<1>}map_set; {<>}map_set > <> + 1 -- arrive -> {<1,2>*}map_set; {<>}map_set > <> + 0" ∷
  "{<1>}map_set; {<>}map_set > <> + 1 -- sequence-left.operator.map-set -> {<>}map_set; {<2>}map_set > <> + 1" ∷
  "{<1,2>*}map_set; {<>}map_set > <> + 0 -- sequence-left.operator.map-set -> {<1>*}map_set; {<3>}map_set > <> + 0" ∷
  "{<1,2>*}map_set; {<>}map_set > <> + 0 -- sequence-left.operator.map-set -> {<2>*}map_set; {<2>}map_set > <> + 0" ∷
  "{<>}map_set; {<2>}map_set > <> + 1 -- arrive -> {<2>*}map_set; {<2>}map_set > <> + 0" ∷
  "{<>}map_set; {<2>}map_set > <> + 1 -- sequence-right.operator.map-set -> {<>}map_set; {<>}map_set > <3> + 1" ∷
  "{<1>*}map_set; {<3>}map_set > <> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}map_set > <> + 0" ∷
  "{<1>*}map_set; {<3>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*}map_set; {<>}map_set > <4> + 0" ∷
  "{<2>*}map_set; {<2>}map_set > <> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}map_set > <> + 0" ∷
  "{<2>*}map_set; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*}map_set; {<>}map_set > <3> + 0" ∷
  "{<>}map_set; {<>}map_set > <3> + 1 -- arrive -> {<2>*}map_set; {<>}map_set > <3> + 0" ∷
  "{<>*}map_set; {<2,3>}map_set > <> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2,3>*}map_set > <> + 0" ∷
  "{<>*}map_set; {<2,3>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*}map_set; {<2>}map_set > <4> + 0" ∷
  "{<>*}map_set; {<2,3>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*}map_set; {<3>}map_set > <3> + 0" ∷
  "{<1>*}map_set; {<>}map_set > <4> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2>}map_set > <4> + 0" ∷
  "{<2>*}map_set; {<>}map_set > <3> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<3>}map_set > <3> + 0" ∷
  "{<>!}map_set; {<2,3>*}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>!}map_set; {<2>*}map_set > <4> + 0" ∷
  "{<>!}map_set; {<2,3>*}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>!}map_set; {<3>*}map_set > <3> + 0" ∷
  "{<>*}map_set; {<2>}map_set > <4> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2>*}map_set > <4> + 0" ∷
  "{<>*}map_set; {<2>}map_set > <4> + 0 -- sequence-right.operator.map-set -> {<>*}map_set; {<>}map_set > <3,4> + 0" ∷
  "{<>*}map_set; {<3>}map_set > <3> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<3>*}map_set > <3> + 0" ∷
  "{<>*}map_set; {<3>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*}map_set; {<>}map_set > <3,4> + 0" ∷
  "{<>!}map_set; {<2>*}map_set > <4> + 0 -- sequence-right.operator.map-set -> {<>!}map_set; {<>*}map_set > <3,4> + 0" ∷
  "{<>!}map_set; {<3>*}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>!}map_set; {<>*}map_set > <3,4> + 0" ∷
  "{<>*}map_set; {<>}map_set > <3,4> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<>*}map_set > <3,4> + 0" ∷
  "{<>!}map_set; {<>*}map_set > <3,4> + 0 -- sequence-right.operator.map-set-terminated -> {<>!}map_set; {<>!}map_set > <3,4>* + 0" ∷
  "{<>!}map_set; {<>!}map_set > <3,4>* + 0 is stuck" ∷
  "# map_set; filter_set" ∷
  "{<>}map_set; {<>}filter_set > <> + 2 -- arrive -> {<1>}map_set; {<>}filter_set > <> + 1" ∷
  "{<1>}map_set; {<>}filter_set > <> + 1 -- arrive -> {<1,2>*}map_set; {<>}filter_set > <> + 0" ∷
  "{<1>}map_set; {<>}filter_set > <> + 1 -- sequence-left.operator.map-set -> {<>}map_set; {<2>}filter_set > <> + 1" ∷
  "{<1,2>*}map_set; {<>}filter_set > <> + 0 -- sequence-left.operator.map-set -> {<1>*}map_set; {<3>}filter_set > <> + 0" ∷
  "{<1,2>*}map_set; {<>}filter_set > <> + 0 -- sequence-left.operator.map-set -> {<2>*}map_set; {<2>}filter_set > <> + 0" ∷
  "{<>}map_set; {<2>}filter_set > <> + 1 -- arrive -> {<2>*}map_set; {<2>}filter_set > <> + 0" ∷
  "{<>}map_set; {<2>}filter_set > <> + 1 -- sequence-right.operator.filter-set -> {<>}map_set; {<>}filter_set > <2> + 1" ∷
  "{<1>*}map_set; {<3>}filter_set > <> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}filter_set > <> + 0" ∷
  "{<1>*}map_set; {<3>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*}map_set; {<>}filter_set > <> + 0" ∷
  "{<2>*}map_set; {<2>}filter_set > <> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}filter_set > <> + 0" ∷
  "{<2>*}map_set; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*}map_set; {<>}filter_set > <2> + 0" ∷
  "{<>}map_set; {<>}filter_set > <2> + 1 -- arrive -> {<2>*}map_set; {<>}filter_set > <2> + 0" ∷
  "{<>*}map_set; {<2,3>}filter_set > <> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2,3>*}filter_set > <> + 0" ∷
  "{<>*}map_set; {<2,3>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*}map_set; {<2>}filter_set > <> + 0" ∷
  "{<>*}map_set; {<2,3>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*}map_set; {<3>}filter_set > <2> + 0" ∷
  "{<1>*}map_set; {<>}filter_set > <> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2>}filter_set > <> + 0" ∷
  "{<2>*}map_set; {<>}filter_set > <2> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<3>}filter_set > <2> + 0" ∷
  "{<>!}map_set; {<2,3>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!}map_set; {<2>*}filter_set > <> + 0" ∷
  "{<>!}map_set; {<2,3>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!}map_set; {<3>*}filter_set > <2> + 0" ∷
  "{<>*}map_set; {<2>}filter_set > <> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2>*}filter_set > <> + 0" ∷
  "{<>*}map_set; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*}map_set; {<>}filter_set > <2> + 0" ∷
  "{<>*}map_set; {<3>}filter_set > <2> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<3>*}filter_set > <2> + 0" ∷
  "{<>*}map_set; {<3>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*}map_set; {<>}filter_set > <2> + 0" ∷
  "{<>!}map_set; {<2>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!}map_set; {<>*}filter_set > <2> + 0" ∷
  "{<>!}map_set; {<3>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>!}map_set; {<>*}filter_set > <2> + 0" ∷
  "{<>*}map_set; {<>}filter_set > <2> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<>*}filter_set > <2> + 0" ∷
  "{<>!}map_set; {<>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set-terminated -> {<>!}map_set; {<>!}filter_set > <2>* + 0" ∷
  "{<>!}map_set; {<>!}filter_set > <2>* + 0 is stuck" ∷
  "# map_set; tee_set" ∷
  "{<>}map_set; {<>}tee_set > <>,<> + 2 -- arrive -> {<1>}map_set; {<>}tee_set > <>,<> + 1" ∷
  "{<1>}map_set; {<>}tee_set > <>,<> + 1 -- arrive -> {<1,2>*}map_set; {<>}tee_set > <>,<> + 0" ∷
  "{<1>}map_set; {<>}tee_set > <>,<> + 1 -- sequence-left.operator.map-set -> {<>}map_set; {<2>}tee_set > <>,<> + 1" ∷
  "{<1,2>*}map_set; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.map-set -> {<1>*}map_set; {<3>}tee_set > <>,<> + 0" ∷
  "{<1,2>*}map_set; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.map-set -> {<2>*}map_set; {<2>}tee_set > <>,<> + 0" ∷
  "{<>}map_set; {<2>}tee_set > <>,<> + 1 -- arrive -> {<2>*}map_set; {<2>}tee_set > <>,<> + 0" ∷
  "{<>}map_set; {<2>}tee_set > <>,<> + 1 -- sequence-right.operator.tee -> {<>}map_set; {<>}tee_set > <2>,<2> + 1" ∷
  "{<1>*}map_set; {<3>}tee_set > <>,<> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}tee_set > <>,<> + 0" ∷
  "{<1>*}map_set; {<3>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*}map_set; {<>}tee_set > <3>,<3> + 0" ∷
  "{<2>*}map_set; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2,3>}tee_set > <>,<> + 0" ∷
  "{<2>*}map_set; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<2>*}map_set; {<>}tee_set > <2>,<2> + 0" ∷
  "{<>}map_set; {<>}tee_set > <2>,<2> + 1 -- arrive -> {<2>*}map_set; {<>}tee_set > <2>,<2> + 0" ∷
  "{<>*}map_set; {<2,3>}tee_set > <>,<> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2,3>*}tee_set > <>,<> + 0" ∷
  "{<>*}map_set; {<2,3>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*}map_set; {<>}tee_set > <2,3>,<2,3> + 0" ∷
  "{<1>*}map_set; {<>}tee_set > <3>,<3> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<2>}tee_set > <3>,<3> + 0" ∷
  "{<2>*}map_set; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.map-set -> {<>*}map_set; {<3>}tee_set > <2>,<2> + 0" ∷
  "{<>!}map_set; {<2,3>*}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>!}map_set; {<>!}tee_set > <2,3>*,<2,3>* + 0" ∷
  "{<>*}map_set; {<>}tee_set > <2,3>,<2,3> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<>*}tee_set > <2,3>,<2,3> + 0" ∷
  "{<>*}map_set; {<2>}tee_set > <3>,<3> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<2>*}tee_set > <3>,<3> + 0" ∷
  "{<>*}map_set; {<2>}tee_set > <3>,<3> + 0 -- sequence-right.operator.tee -> {<>*}map_set; {<>}tee_set > <2,3>,<2,3> + 0" ∷
  "{<>*}map_set; {<3>}tee_set > <2>,<2> + 0 -- sequence-left.operator.map-set-terminated -> {<>!}map_set; {<3>*}tee_set > <2>,<2> + 0" ∷
  "{<>*}map_set; {<3>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*}map_set; {<>}tee_set > <2,3>,<2,3> + 0" ∷
  "{<>!}map_set; {<>!}tee_set > <2,3>*,<2,3>* + 0 is stuck" ∷
  "{<>!}map_set; {<>*}tee_set > <2,3>,<2,3> + 0 -- sequence-right.operator.tee -> {<>!}map_set; {<>!}tee_set > <2,3>*,<2,3>* + 0" ∷
  "{<>!}map_set; {<2>*}tee_set > <3>,<3> + 0 -- sequence-right.operator.tee -> {<>!}map_set; {<>!}tee_set > <2,3>*,<2,3>* + 0" ∷
  "{<>!}map_set; {<3>*}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>!}map_set; {<>!}tee_set > <2,3>*,<2,3>* + 0" ∷
  "# filter_set; map_set" ∷
  "{<>}filter_set; {<>}map_set > <> + 2 -- arrive -> {<1>}filter_set; {<>}map_set > <> + 1" ∷
  "{<1>}filter_set; {<>}map_set > <> + 1 -- arrive -> {<1,2>*}filter_set; {<>}map_set > <> + 0" ∷
  "{<1>}filter_set; {<>}map_set > <> + 1 -- sequence-left.operator.filter-set -> {<>}filter_set; {<>}map_set > <> + 1" ∷
  "{<1,2>*}filter_set; {<>}map_set > <> + 0 -- sequence-left.operator.filter-set -> {<1>*}filter_set; {<2>}map_set > <> + 0" ∷
  "{<1,2>*}filter_set; {<>}map_set > <> + 0 -- sequence-left.operator.filter-set -> {<2>*}filter_set; {<>}map_set > <> + 0" ∷
  "{<>}filter_set; {<>}map_set > <> + 1 -- arrive -> {<2>*}filter_set; {<>}map_set > <> + 0" ∷
  "{<1>*}filter_set; {<2>}map_set > <> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}map_set > <> + 0" ∷
  "{<1>*}filter_set; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*}filter_set; {<>}map_set > <3> + 0" ∷
  "{<2>*}filter_set; {<>}map_set > <> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}map_set > <> + 0" ∷
  "{<>*}filter_set; {<2>}map_set > <> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<2>*}map_set > <> + 0" ∷
  "{<>*}filter_set; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*}filter_set; {<>}map_set > <3> + 0" ∷
  "{<1>*}filter_set; {<>}map_set > <3> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<>}map_set > <3> + 0" ∷
  "{<>!}filter_set; {<2>*}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>!}filter_set; {<>*}map_set > <3> + 0" ∷
  "{<>*}filter_set; {<>}map_set > <3> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<>*}map_set > <3> + 0" ∷
  "{<>!}filter_set; {<>*}map_set > <3> + 0 -- sequence-right.operator.map-set-terminated -> {<>!}filter_set; {<>!}map_set > <3>* + 0" ∷
  "{<>!}filter_set; {<>!}map_set > <3>* + 0 is stuck" ∷
  "# filter_set; filter_set" ∷
  "{<>}filter_set; {<>}filter_set > <> + 2 -- arrive -> {<1>}filter_set; {<>}filter_set > <> + 1" ∷
  "{<1>}filter_set; {<>}filter_set > <> + 1 -- arrive -> {<1,2>*}filter_set; {<>}filter_set > <> + 0" ∷
  "{<1>}filter_set; {<>}filter_set > <> + 1 -- sequence-left.operator.filter-set -> {<>}filter_set; {<>}filter_set > <> + 1" ∷
  "{<1,2>*}filter_set; {<>}filter_set > <> + 0 -- sequence-left.operator.filter-set -> {<1>*}filter_set; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*}filter_set; {<>}filter_set > <> + 0 -- sequence-left.operator.filter-set -> {<2>*}filter_set; {<>}filter_set > <> + 0" ∷
  "{<>}filter_set; {<>}filter_set > <> + 1 -- arrive -> {<2>*}filter_set; {<>}filter_set > <> + 0" ∷
  "{<1>*}filter_set; {<2>}filter_set > <> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}filter_set > <> + 0" ∷
  "{<1>*}filter_set; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*}filter_set; {<>}filter_set > <2> + 0" ∷
  "{<2>*}filter_set; {<>}filter_set > <> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}filter_set > <> + 0" ∷
  "{<>*}filter_set; {<2>}filter_set > <> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<2>*}filter_set > <> + 0" ∷
  "{<>*}filter_set; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*}filter_set; {<>}filter_set > <2> + 0" ∷
  "{<1>*}filter_set; {<>}filter_set > <2> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<>}filter_set > <2> + 0" ∷
  "{<>!}filter_set; {<2>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!}filter_set; {<>*}filter_set > <2> + 0" ∷
  "{<>*}filter_set; {<>}filter_set > <2> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<>*}filter_set > <2> + 0" ∷
  "{<>!}filter_set; {<>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set-terminated -> {<>!}filter_set; {<>!}filter_set > <2>* + 0" ∷
  "{<>!}filter_set; {<>!}filter_set > <2>* + 0 is stuck" ∷
  "# filter_set; tee_set" ∷
  "{<>}filter_set; {<>}tee_set > <>,<> + 2 -- arrive -> {<1>}filter_set; {<>}tee_set > <>,<> + 1" ∷
  "{<1>}filter_set; {<>}tee_set > <>,<> + 1 -- arrive -> {<1,2>*}filter_set; {<>}tee_set > <>,<> + 0" ∷
  "{<1>}filter_set; {<>}tee_set > <>,<> + 1 -- sequence-left.operator.filter-set -> {<>}filter_set; {<>}tee_set > <>,<> + 1" ∷
  "{<1,2>*}filter_set; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.filter-set -> {<1>*}filter_set; {<2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*}filter_set; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.filter-set -> {<2>*}filter_set; {<>}tee_set > <>,<> + 0" ∷
  "{<>}filter_set; {<>}tee_set > <>,<> + 1 -- arrive -> {<2>*}filter_set; {<>}tee_set > <>,<> + 0" ∷
  "{<1>*}filter_set; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}tee_set > <>,<> + 0" ∷
  "{<1>*}filter_set; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*}filter_set; {<>}tee_set > <2>,<2> + 0" ∷
  "{<2>*}filter_set; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<2>}tee_set > <>,<> + 0" ∷
  "{<>*}filter_set; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<2>*}tee_set > <>,<> + 0" ∷
  "{<>*}filter_set; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*}filter_set; {<>}tee_set > <2>,<2> + 0" ∷
  "{<1>*}filter_set; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.filter-set -> {<>*}filter_set; {<>}tee_set > <2>,<2> + 0" ∷
  "{<>!}filter_set; {<2>*}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>!}filter_set; {<>!}tee_set > <2>*,<2>* + 0" ∷
  "{<>*}filter_set; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.filter-set-terminated -> {<>!}filter_set; {<>*}tee_set > <2>,<2> + 0" ∷
  "{<>!}filter_set; {<>!}tee_set > <2>*,<2>* + 0 is stuck" ∷
  "{<>!}filter_set; {<>*}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>!}filter_set; {<>!}tee_set > <2>*,<2>* + 0" ∷
  "# tee_set; union_sets" ∷
  "{<>}tee_set; {<>,<>}union_sets > <> + 2 -- arrive -> {<1>}tee_set; {<>,<>}union_sets > <> + 1" ∷
  "{<1>}tee_set; {<>,<>}union_sets > <> + 1 -- arrive -> {<1,2>*}tee_set; {<>,<>}union_sets > <> + 0" ∷
  "{<1>}tee_set; {<>,<>}union_sets > <> + 1 -- sequence-left.operator.tee -> {<>}tee_set; {<1>,<1>}union_sets > <> + 1" ∷
  "{<1,2>*}tee_set; {<>,<>}union_sets > <> + 0 -- sequence-left.operator.tee -> {<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0" ∷
  "{<>}tee_set; {<1>,<1>}union_sets > <> + 1 -- arrive -> {<2>*}tee_set; {<1>,<1>}union_sets > <> + 0" ∷
  "{<>}tee_set; {<1>,<1>}union_sets > <> + 1 -- sequence-right.operator.union-set-left -> {<>}tee_set; {<>,<1>}union_sets > <1> + 1" ∷
  "{<>}tee_set; {<1>,<1>}union_sets > <> + 1 -- sequence-right.operator.union-set-right -> {<>}tee_set; {<1>,<>}union_sets > <1> + 1" ∷
  "{<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<1>*,<1,2>*}union_sets > <2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<2>*,<1,2>*}union_sets > <1> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1,2>*,<1>*}union_sets > <2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1,2>*,<2>*}union_sets > <1> + 0" ∷
  "{<2>*}tee_set; {<1>,<1>}union_sets > <> + 0 -- sequence-left.operator.tee -> {<>!}tee_set; {<1,2>*,<1,2>*}union_sets > <> + 0" ∷
  "{<2>*}tee_set; {<1>,<1>}union_sets > <> + 0 -- sequence-right.operator.union-set-left -> {<2>*}tee_set; {<>,<1>}union_sets > <1> + 0" ∷
  "{<2>*}tee_set; {<1>,<1>}union_sets > <> + 0 -- sequence-right.operator.union-set-right -> {<2>*}tee_set; {<1>,<>}union_sets > <1> + 0" ∷
  "{<>}tee_set; {<>,<1>}union_sets > <1> + 1 -- arrive -> {<2>*}tee_set; {<>,<1>}union_sets > <1> + 0" ∷
  "{<>}tee_set; {<>,<1>}union_sets > <1> + 1 -- sequence-right.operator.union-set-right -> {<>}tee_set; {<>,<>}union_sets > <1> + 1" ∷
  "{<>}tee_set; {<1>,<>}union_sets > <1> + 1 -- arrive -> {<2>*}tee_set; {<1>,<>}union_sets > <1> + 0" ∷
  "{<>}tee_set; {<1>,<>}union_sets > <1> + 1 -- sequence-right.operator.union-set-left -> {<>}tee_set; {<>,<>}union_sets > <1> + 1" ∷
  "{<>!}tee_set; {<1>*,<1,2>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<1,2>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1>*,<1>*}union_sets > <2> + 0" ∷
  "{<>!}tee_set; {<1>*,<1,2>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<1,2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<1,2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<1,2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<2>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<1,2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<1>*,<1>*}union_sets > <2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<2>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<1>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1,2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<1>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1,2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*}tee_set; {<>,<1>}union_sets > <1> + 0 -- sequence-left.operator.tee -> {<>!}tee_set; {<2>*,<1,2>*}union_sets > <1> + 0" ∷
  "{<2>*}tee_set; {<>,<1>}union_sets > <1> + 0 -- sequence-right.operator.union-set-right -> {<2>*}tee_set; {<>,<>}union_sets > <1> + 0" ∷
  "{<2>*}tee_set; {<1>,<>}union_sets > <1> + 0 -- sequence-left.operator.tee -> {<>!}tee_set; {<1,2>*,<2>*}union_sets > <1> + 0" ∷
  "{<2>*}tee_set; {<1>,<>}union_sets > <1> + 0 -- sequence-right.operator.union-set-left -> {<2>*}tee_set; {<>,<>}union_sets > <1> + 0" ∷
  "{<>}tee_set; {<>,<>}union_sets > <1> + 1 -- arrive -> {<2>*}tee_set; {<>,<>}union_sets > <1> + 0" ∷
  "{<>!}tee_set; {<>*,<1,2>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<>*,<1,2>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<1>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<1>*}union_sets > <2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<2>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<2>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<1>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<1>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<1>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<2>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<2>*}union_sets > <1> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<1>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1,2>*,<>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<2>*,<>*}union_sets > <1,2> + 0" ∷
  "{<2>*}tee_set; {<>,<>}union_sets > <1> + 0 -- sequence-left.operator.tee -> {<>!}tee_set; {<2>*,<2>*}union_sets > <1> + 0" ∷
  "{<>!}tee_set; {<>*,<1>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<>*,<2>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-right -> {<>!}tee_set; {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<1>*,<>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<2>*,<>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-left -> {<>!}tee_set; {<>*,<>*}union_sets > <1,2> + 0" ∷
  "{<>!}tee_set; {<>*,<>*}union_sets > <1,2> + 0 -- sequence-right.operator.union-set-terminated -> {<>!}tee_set; {<>!,<>!}union_sets > <1,2>* + 0" ∷
  "{<>!}tee_set; {<>!,<>!}union_sets > <1,2>* + 0 is stuck" ∷
  "# union_sets; map_set" ∷
  "{<>,<>}union_sets; {<>}map_set > <> + 2 -- arrive -> {<1>,<1>}union_sets; {<>}map_set > <> + 1" ∷
  "{<1>,<1>}union_sets; {<>}map_set > <> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets; {<>}map_set > <> + 0" ∷
  "{<1>,<1>}union_sets; {<>}map_set > <> + 1 -- sequence-left.operator.union-set-left -> {<>,<1>}union_sets; {<1>}map_set > <> + 1" ∷
  "{<1>,<1>}union_sets; {<>}map_set > <> + 1 -- sequence-left.operator.union-set-right -> {<1>,<>}union_sets; {<1>}map_set > <> + 1" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1,2>*}union_sets; {<2>}map_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<1>*}union_sets; {<2>}map_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<>,<1>}union_sets; {<1>}map_set > <> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<>,<1>}union_sets; {<1>}map_set > <> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}map_set > <> + 1" ∷
  "{<>,<1>}union_sets; {<1>}map_set > <> + 1 -- sequence-right.operator.map-set -> {<>,<1>}union_sets; {<>}map_set > <2> + 1" ∷
  "{<1>,<>}union_sets; {<1>}map_set > <> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<1>,<>}union_sets; {<1>}map_set > <> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}map_set > <> + 1" ∷
  "{<1>,<>}union_sets; {<1>}map_set > <> + 1 -- sequence-right.operator.map-set -> {<1>,<>}union_sets; {<>}map_set > <2> + 1" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}map_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<1,2>*}union_sets; {<>}map_set > <3> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<1,2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}map_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<1>*}union_sets; {<>}map_set > <3> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<>,<>}union_sets; {<1>}map_set > <> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<1>}map_set > <> + 0" ∷
  "{<>,<>}union_sets; {<1>}map_set > <> + 1 -- sequence-right.operator.map-set -> {<>,<>}union_sets; {<>}map_set > <2> + 1" ∷
  "{<>,<1>}union_sets; {<>}map_set > <2> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<>,<1>}union_sets; {<>}map_set > <2> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}map_set > <2> + 1" ∷
  "{<1>,<>}union_sets; {<>}map_set > <2> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<1>,<>}union_sets; {<>}map_set > <2> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}map_set > <2> + 1" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<1,2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<1,2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<1>*}union_sets; {<>}map_set > <3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}map_set > <3> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<1>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<1>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}map_set > <3> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>,<>}union_sets; {<>}map_set > <2> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<>,<>}union_sets; {<1>}map_set > <2> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0" ∷
  "{<>,<>}union_sets; {<1>}map_set > <2> + 1 -- sequence-right.operator.map-set -> {<>,<>}union_sets; {<>}map_set > <2> + 1" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<1,2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<1,2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1>*,<2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<1>*,<2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1>*,<1>*}union_sets; {<>}map_set > <3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<2>*,<1>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<2>*,<1>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<2>*,<2>*}union_sets; {<>}map_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<1,2>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}map_set > <> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<1>*}map_set > <3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<2>*}map_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1>*}map_set > <3> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}map_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<1>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}map_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<2>}map_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}map_set > <3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<1>}map_set > <3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<1>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<2>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<1>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<2>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1>*}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<1>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <2> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<2>*}map_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<1>*}map_set > <3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<2>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<1>}map_set > <2,3> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>*,<>*}union_sets; {<2>}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0 -- sequence-right.operator.map-set-terminated -> {<>!,<>!}union_sets; {<>!}map_set > <2,3>* + 0" ∷
  "{<>!,<>!}union_sets; {<1>*}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<1>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}map_set > <2,3> + 0 -- sequence-right.operator.map-set -> {<>!,<>!}union_sets; {<2>*}map_set > <2,3> + 0" ∷
  "{<>!,<>!}union_sets; {<>!}map_set > <2,3>* + 0 is stuck" ∷
  "# union_sets; filter_set" ∷
  "{<>,<>}union_sets; {<>}filter_set > <> + 2 -- arrive -> {<1>,<1>}union_sets; {<>}filter_set > <> + 1" ∷
  "{<1>,<1>}union_sets; {<>}filter_set > <> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<1>,<1>}union_sets; {<>}filter_set > <> + 1 -- sequence-left.operator.union-set-left -> {<>,<1>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<1>,<1>}union_sets; {<>}filter_set > <> + 1 -- sequence-left.operator.union-set-right -> {<1>,<>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<>,<1>}union_sets; {<1>}filter_set > <> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<>,<1>}union_sets; {<1>}filter_set > <> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<>,<1>}union_sets; {<1>}filter_set > <> + 1 -- sequence-right.operator.filter-set -> {<>,<1>}union_sets; {<>}filter_set > <> + 1" ∷
  "{<1>,<>}union_sets; {<1>}filter_set > <> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<1>,<>}union_sets; {<1>}filter_set > <> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<1>,<>}union_sets; {<1>}filter_set > <> + 1 -- sequence-right.operator.filter-set -> {<1>,<>}union_sets; {<>}filter_set > <> + 1" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<>,<>}union_sets; {<1>}filter_set > <> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<>,<>}union_sets; {<1>}filter_set > <> + 1 -- sequence-right.operator.filter-set -> {<>,<>}union_sets; {<>}filter_set > <> + 1" ∷
  "{<>,<1>}union_sets; {<>}filter_set > <> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<>,<1>}union_sets; {<>}filter_set > <> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<1>,<>}union_sets; {<>}filter_set > <> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<1>,<>}union_sets; {<>}filter_set > <> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}filter_set > <> + 1" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1,2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<1>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}filter_set > <> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>,<>}union_sets; {<>}filter_set > <> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<>}filter_set > <> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<2>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1,2>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}filter_set > <> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<2>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<2>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}filter_set > <> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<2>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<1>*}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<2>*}filter_set > <> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1>*}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}filter_set > <> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<>*,<2>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<1>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}filter_set > <2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<1>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<2>*,<>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<>*}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}filter_set > <> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<>*}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<>}filter_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<>*}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<1>*}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<2>*}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}filter_set > <2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>*,<>*}union_sets; {<>}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set-terminated -> {<>!,<>!}union_sets; {<>!}filter_set > <2>* + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}filter_set > <2> + 0 -- sequence-right.operator.filter-set -> {<>!,<>!}union_sets; {<>*}filter_set > <2> + 0" ∷
  "{<>!,<>!}union_sets; {<>!}filter_set > <2>* + 0 is stuck" ∷
  "# union_sets; tee_set" ∷
  "{<>,<>}union_sets; {<>}tee_set > <>,<> + 2 -- arrive -> {<1>,<1>}union_sets; {<>}tee_set > <>,<> + 1" ∷
  "{<1>,<1>}union_sets; {<>}tee_set > <>,<> + 1 -- arrive -> {<1,2>*,<1,2>*}union_sets; {<>}tee_set > <>,<> + 0" ∷
  "{<1>,<1>}union_sets; {<>}tee_set > <>,<> + 1 -- sequence-left.operator.union-set-left -> {<>,<1>}union_sets; {<1>}tee_set > <>,<> + 1" ∷
  "{<1>,<1>}union_sets; {<>}tee_set > <>,<> + 1 -- sequence-left.operator.union-set-right -> {<1>,<>}union_sets; {<1>}tee_set > <>,<> + 1" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1,2>*}union_sets; {<2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1,2>*}union_sets; {<>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<>,<1>}union_sets; {<1>}tee_set > <>,<> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<>,<1>}union_sets; {<1>}tee_set > <>,<> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}tee_set > <>,<> + 1" ∷
  "{<>,<1>}union_sets; {<1>}tee_set > <>,<> + 1 -- sequence-right.operator.tee -> {<>,<1>}union_sets; {<>}tee_set > <1>,<1> + 1" ∷
  "{<1>,<>}union_sets; {<1>}tee_set > <>,<> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<1>,<>}union_sets; {<1>}tee_set > <>,<> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}tee_set > <>,<> + 1" ∷
  "{<1>,<>}union_sets; {<1>}tee_set > <>,<> + 1 -- sequence-right.operator.tee -> {<1>,<>}union_sets; {<>}tee_set > <1>,<1> + 1" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*,<1,2>*}union_sets; {<>}tee_set > <2>,<2> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<2>*,<1,2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1,2>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1,2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<>,<>}union_sets; {<1>}tee_set > <>,<> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0" ∷
  "{<>,<>}union_sets; {<1>}tee_set > <>,<> + 1 -- sequence-right.operator.tee -> {<>,<>}union_sets; {<>}tee_set > <1>,<1> + 1" ∷
  "{<>,<1>}union_sets; {<>}tee_set > <1>,<1> + 1 -- arrive -> {<2>*,<1,2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<>,<1>}union_sets; {<>}tee_set > <1>,<1> + 1 -- sequence-left.operator.union-set-right -> {<>,<>}union_sets; {<1>}tee_set > <1>,<1> + 1" ∷
  "{<1>,<>}union_sets; {<>}tee_set > <1>,<1> + 1 -- arrive -> {<1,2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<1>,<>}union_sets; {<>}tee_set > <1>,<1> + 1 -- sequence-left.operator.union-set-left -> {<>,<>}union_sets; {<1>}tee_set > <1>,<1> + 1" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*,<1,2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<1>*}union_sets; {<2>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<1,2>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<2>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1,2>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<1,2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1,2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<1>*}union_sets; {<2>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<1,2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<>,<>}union_sets; {<>}tee_set > <1>,<1> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<>,<>}union_sets; {<1>}tee_set > <1>,<1> + 1 -- arrive -> {<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0" ∷
  "{<>,<>}union_sets; {<1>}tee_set > <1>,<1> + 1 -- sequence-right.operator.tee -> {<>,<>}union_sets; {<>}tee_set > <1>,<1> + 1" ∷
  "{<>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<1,2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<1>*}union_sets; {<2>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<1>*,<1>*}union_sets; {<>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<1>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<1,2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<1,2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<2>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<2>*}union_sets; {<1>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<2>*,<2>*}union_sets; {<>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<1>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<2>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<2>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<1,2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<2>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<1>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<1>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<1>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<1>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<2>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<1,2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<1,2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}tee_set > <>,<> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<>*,<1>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<1>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<2>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<1>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<1>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-right -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<>*,<2>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<2>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<2>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<2>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-left -> {<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0" ∷
  "{<1>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<1>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}tee_set > <>,<> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<>*}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1>*}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1>*}tee_set > <2>,<2> + 0" ∷
  "{<>*,<>*}union_sets; {<1>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}tee_set > <2>,<2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<2>*}tee_set > <1>,<1> + 0" ∷
  "{<>*,<>*}union_sets; {<2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-left.operator.union-set-terminated -> {<>!,<>!}union_sets; {<1,2>*}tee_set > <1>,<1> + 0" ∷
  "{<>*,<>*}union_sets; {<1,2>}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>*,<>*}union_sets; {<>}tee_set > <1,2>,<1,2> + 0" ∷
  "{<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0 is stuck" ∷
  "{<>!,<>!}union_sets; {<>*}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<1>*}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}tee_set > <1,2>,<1,2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<1>*}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}tee_set > <2>,<2> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<2>*}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "{<>!,<>!}union_sets; {<1,2>*}tee_set > <1>,<1> + 0 -- sequence-right.operator.tee -> {<>!,<>!}union_sets; {<>!}tee_set > <1,2>*,<1,2>* + 0" ∷
  "# map | map" ∷
  "{[]}map | {[]}map > [],[] + 1 -- arrive -> {[2]*}map | {[2]*}map > [],[] + 0" ∷
  "{[2]*}map | {[2]*}map > [],[] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}map > [3],[] + 0" ∷
  "{[2]*}map | {[2]*}map > [],[] + 0 -- par-right.operator.map -> {[2]*}map | {[]*}map > [],[3] + 0" ∷
  "{[]*}map | {[2]*}map > [3],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}map > [3]*,[] + 0" ∷
  "{[]*}map | {[2]*}map > [3],[] + 0 -- par-right.operator.map -> {[]*}map | {[]*}map > [3],[3] + 0" ∷
  "{[2]*}map | {[]*}map > [],[3] + 0 -- par-left.operator.map -> {[]*}map | {[]*}map > [3],[3] + 0" ∷
  "{[2]*}map | {[]*}map > [],[3] + 0 -- par-right.operator.map-terminator -> {[2]*}map | {[]!}map > [],[3]* + 0" ∷
  "{[]!}map | {[2]*}map > [3]*,[] + 0 -- par-right.operator.map -> {[]!}map | {[]*}map > [3]*,[3] + 0" ∷
  "{[]*}map | {[]*}map > [3],[3] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]*}map > [3]*,[3] + 0" ∷
  "{[]*}map | {[]*}map > [3],[3] + 0 -- par-right.operator.map-terminator -> {[]*}map | {[]!}map > [3],[3]* + 0" ∷
  "{[2]*}map | {[]!}map > [],[3]* + 0 -- par-left.operator.map -> {[]*}map | {[]!}map > [3],[3]* + 0" ∷
  "{[]!}map | {[]*}map > [3]*,[3] + 0 -- par-right.operator.map-terminator -> {[]!}map | {[]!}map > [3]*,[3]* + 0" ∷
  "{[]*}map | {[]!}map > [3],[3]* + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}map > [3]*,[3]* + 0" ∷
  "{[]!}map | {[]!}map > [3]*,[3]* + 0 is stuck" ∷
  "# map | filter" ∷
  "{[]}map | {[]}filter > [],[] + 1 -- arrive -> {[2]*}map | {[2]*}filter > [],[] + 0" ∷
  "{[2]*}map | {[2]*}filter > [],[] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}filter > [3],[] + 0" ∷
  "{[2]*}map | {[2]*}filter > [],[] + 0 -- par-right.operator.filter -> {[2]*}map | {[]*}filter > [],[2] + 0" ∷
  "{[]*}map | {[2]*}filter > [3],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}filter > [3]*,[] + 0" ∷
  "{[]*}map | {[2]*}filter > [3],[] + 0 -- par-right.operator.filter -> {[]*}map | {[]*}filter > [3],[2] + 0" ∷
  "{[2]*}map | {[]*}filter > [],[2] + 0 -- par-left.operator.map -> {[]*}map | {[]*}filter > [3],[2] + 0" ∷
  "{[2]*}map | {[]*}filter > [],[2] + 0 -- par-right.operator.filter-terminator -> {[2]*}map | {[]!}filter > [],[2]* + 0" ∷
  "{[]!}map | {[2]*}filter > [3]*,[] + 0 -- par-right.operator.filter -> {[]!}map | {[]*}filter > [3]*,[2] + 0" ∷
  "{[]*}map | {[]*}filter > [3],[2] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]*}filter > [3]*,[2] + 0" ∷
  "{[]*}map | {[]*}filter > [3],[2] + 0 -- par-right.operator.filter-terminator -> {[]*}map | {[]!}filter > [3],[2]* + 0" ∷
  "{[2]*}map | {[]!}filter > [],[2]* + 0 -- par-left.operator.map -> {[]*}map | {[]!}filter > [3],[2]* + 0" ∷
  "{[]!}map | {[]*}filter > [3]*,[2] + 0 -- par-right.operator.filter-terminator -> {[]!}map | {[]!}filter > [3]*,[2]* + 0" ∷
  "{[]*}map | {[]!}filter > [3],[2]* + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}filter > [3]*,[2]* + 0" ∷
  "{[]!}map | {[]!}filter > [3]*,[2]* + 0 is stuck" ∷
  "# map | scan" ∷
  "{[]}map | {[]}scan(0) > [],[] + 1 -- arrive -> {[2]*}map | {[2]*}scan(0) > [],[] + 0" ∷
  "{[2]*}map | {[2]*}scan(0) > [],[] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}scan(0) > [3],[] + 0" ∷
  "{[2]*}map | {[2]*}scan(0) > [],[] + 0 -- par-right.operator.scan -> {[2]*}map | {[]*}scan(2) > [],[2] + 0" ∷
  "{[]*}map | {[2]*}scan(0) > [3],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}scan(0) > [3]*,[] + 0" ∷
  "{[]*}map | {[2]*}scan(0) > [3],[] + 0 -- par-right.operator.scan -> {[]*}map | {[]*}scan(2) > [3],[2] + 0" ∷
  "{[2]*}map | {[]*}scan(2) > [],[2] + 0 -- par-left.operator.map -> {[]*}map | {[]*}scan(2) > [3],[2] + 0" ∷
  "{[2]*}map | {[]*}scan(2) > [],[2] + 0 -- par-right.operator.scan-terminator -> {[2]*}map | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[]!}map | {[2]*}scan(0) > [3]*,[] + 0 -- par-right.operator.scan -> {[]!}map | {[]*}scan(2) > [3]*,[2] + 0" ∷
  "{[]*}map | {[]*}scan(2) > [3],[2] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]*}scan(2) > [3]*,[2] + 0" ∷
  "{[]*}map | {[]*}scan(2) > [3],[2] + 0 -- par-right.operator.scan-terminator -> {[]*}map | {[]!}scan(2) > [3],[2]* + 0" ∷
  "{[2]*}map | {[]!}scan(2) > [],[2]* + 0 -- par-left.operator.map -> {[]*}map | {[]!}scan(2) > [3],[2]* + 0" ∷
  "{[]!}map | {[]*}scan(2) > [3]*,[2] + 0 -- par-right.operator.scan-terminator -> {[]!}map | {[]!}scan(2) > [3]*,[2]* + 0" ∷
  "{[]*}map | {[]!}scan(2) > [3],[2]* + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}scan(2) > [3]*,[2]* + 0" ∷
  "{[]!}map | {[]!}scan(2) > [3]*,[2]* + 0 is stuck" ∷
  "# map | fold" ∷
  "{[]}map | {[]}fold(0) > [],[] + 1 -- arrive -> {[2]*}map | {[2]*}fold(0) > [],[] + 0" ∷
  "{[2]*}map | {[2]*}fold(0) > [],[] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}fold(0) > [3],[] + 0" ∷
  "{[2]*}map | {[2]*}fold(0) > [],[] + 0 -- par-right.operator.fold -> {[2]*}map | {[]*}fold(2) > [],[] + 0" ∷
  "{[]*}map | {[2]*}fold(0) > [3],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}fold(0) > [3]*,[] + 0" ∷
  "{[]*}map | {[2]*}fold(0) > [3],[] + 0 -- par-right.operator.fold -> {[]*}map | {[]*}fold(2) > [3],[] + 0" ∷
  "{[2]*}map | {[]*}fold(2) > [],[] + 0 -- par-left.operator.map -> {[]*}map | {[]*}fold(2) > [3],[] + 0" ∷
  "{[2]*}map | {[]*}fold(2) > [],[] + 0 -- par-right.operator.fold-terminator -> {[2]*}map | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[]!}map | {[2]*}fold(0) > [3]*,[] + 0 -- par-right.operator.fold -> {[]!}map | {[]*}fold(2) > [3]*,[] + 0" ∷
  "{[]*}map | {[]*}fold(2) > [3],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]*}fold(2) > [3]*,[] + 0" ∷
  "{[]*}map | {[]*}fold(2) > [3],[] + 0 -- par-right.operator.fold-terminator -> {[]*}map | {[]!}fold(2) > [3],[2]* + 0" ∷
  "{[2]*}map | {[]!}fold(2) > [],[2]* + 0 -- par-left.operator.map -> {[]*}map | {[]!}fold(2) > [3],[2]* + 0" ∷
  "{[]!}map | {[]*}fold(2) > [3]*,[] + 0 -- par-right.operator.fold-terminator -> {[]!}map | {[]!}fold(2) > [3]*,[2]* + 0" ∷
  "{[]*}map | {[]!}fold(2) > [3],[2]* + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}fold(2) > [3]*,[2]* + 0" ∷
  "{[]!}map | {[]!}fold(2) > [3]*,[2]* + 0 is stuck" ∷
  "# map | tee" ∷
  "{[]}map | {[]}tee > [],[],[] + 1 -- arrive -> {[2]*}map | {[2]*}tee > [],[],[] + 0" ∷
  "{[2]*}map | {[2]*}tee > [],[],[] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}tee > [3],[],[] + 0" ∷
  "{[2]*}map | {[2]*}tee > [],[],[] + 0 -- par-right.operator.tee -> {[2]*}map | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[]*}map | {[2]*}tee > [3],[],[] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}tee > [3]*,[],[] + 0" ∷
  "{[]*}map | {[2]*}tee > [3],[],[] + 0 -- par-right.operator.tee -> {[]*}map | {[]!}tee > [3],[2]*,[2]* + 0" ∷
  "{[2]*}map | {[]!}tee > [],[2]*,[2]* + 0 -- par-left.operator.map -> {[]*}map | {[]!}tee > [3],[2]*,[2]* + 0" ∷
  "{[]!}map | {[2]*}tee > [3]*,[],[] + 0 -- par-right.operator.tee -> {[]!}map | {[]!}tee > [3]*,[2]*,[2]* + 0" ∷
  "{[]*}map | {[]!}tee > [3],[2]*,[2]* + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}tee > [3]*,[2]*,[2]* + 0" ∷
  "{[]!}map | {[]!}tee > [3]*,[2]*,[2]* + 0 is stuck" ∷
  "# map | drop" ∷
  "{[]}map | {[]}drop > [] + 1 -- arrive -> {[2]*}map | {[2]*}drop > [] + 0" ∷
  "{[2]*}map | {[2]*}drop > [] + 0 -- par-left.operator.map -> {[]*}map | {[2]*}drop > [3] + 0" ∷
  "{[2]*}map | {[2]*}drop > [] + 0 -- par-right.operator.drop -> {[2]*}map | {[]!}drop > [] + 0" ∷
  "{[]*}map | {[2]*}drop > [3] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[2]*}drop > [3]* + 0" ∷
  "{[]*}map | {[2]*}drop > [3] + 0 -- par-right.operator.drop -> {[]*}map | {[]!}drop > [3] + 0" ∷
  "{[2]*}map | {[]!}drop > [] + 0 -- par-left.operator.map -> {[]*}map | {[]!}drop > [3] + 0" ∷
  "{[]!}map | {[2]*}drop > [3]* + 0 -- par-right.operator.drop -> {[]!}map | {[]!}drop > [3]* + 0" ∷
  "{[]*}map | {[]!}drop > [3] + 0 -- par-left.operator.map-terminator -> {[]!}map | {[]!}drop > [3]* + 0" ∷
  "{[]!}map | {[]!}drop > [3]* + 0 is stuck" ∷
  "# map | map_set" ∷
  "{[]}map | {<>}map_set > [],<> + 1 -- arrive -> {[2]*}map | {<2>*}map_set > [],<> + 0" ∷
  "{[2]*}map | {<2>*}map_set > [],<> + 0 -- par-left.operator.map -> {[]*}map | {<2>*}map_set > [3],<> + 0" ∷
  "{[2]*}map | {<2>*}map_set > [],<> + 0 -- par-right.operator.map-set -> {[2]*}map | {<>*}map_set > [],<3> + 0" ∷
  "{[]*}map | {<2>*}map_set > [3],<> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<2>*}map_set > [3]*,<> + 0" ∷
  "{[]*}map | {<2>*}map_set > [3],<> + 0 -- par-right.operator.map-set -> {[]*}map | {<>*}map_set > [3],<3> + 0" ∷
  "{[2]*}map | {<>*}map_set > [],<3> + 0 -- par-left.operator.map -> {[]*}map | {<>*}map_set > [3],<3> + 0" ∷
  "{[2]*}map | {<>*}map_set > [],<3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}map | {<>!}map_set > [],<3>* + 0" ∷
  "{[]!}map | {<2>*}map_set > [3]*,<> + 0 -- par-right.operator.map-set -> {[]!}map | {<>*}map_set > [3]*,<3> + 0" ∷
  "{[]*}map | {<>*}map_set > [3],<3> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>*}map_set > [3]*,<3> + 0" ∷
  "{[]*}map | {<>*}map_set > [3],<3> + 0 -- par-right.operator.map-set-terminated -> {[]*}map | {<>!}map_set > [3],<3>* + 0" ∷
  "{[2]*}map | {<>!}map_set > [],<3>* + 0 -- par-left.operator.map -> {[]*}map | {<>!}map_set > [3],<3>* + 0" ∷
  "{[]!}map | {<>*}map_set > [3]*,<3> + 0 -- par-right.operator.map-set-terminated -> {[]!}map | {<>!}map_set > [3]*,<3>* + 0" ∷
  "{[]*}map | {<>!}map_set > [3],<3>* + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>!}map_set > [3]*,<3>* + 0" ∷
  "{[]!}map | {<>!}map_set > [3]*,<3>* + 0 is stuck" ∷
  "# map | filter_set" ∷
  "{[]}map | {<>}filter_set > [],<> + 1 -- arrive -> {[2]*}map | {<2>*}filter_set > [],<> + 0" ∷
  "{[2]*}map | {<2>*}filter_set > [],<> + 0 -- par-left.operator.map -> {[]*}map | {<2>*}filter_set > [3],<> + 0" ∷
  "{[2]*}map | {<2>*}filter_set > [],<> + 0 -- par-right.operator.filter-set -> {[2]*}map | {<>*}filter_set > [],<2> + 0" ∷
  "{[]*}map | {<2>*}filter_set > [3],<> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<2>*}filter_set > [3]*,<> + 0" ∷
  "{[]*}map | {<2>*}filter_set > [3],<> + 0 -- par-right.operator.filter-set -> {[]*}map | {<>*}filter_set > [3],<2> + 0" ∷
  "{[2]*}map | {<>*}filter_set > [],<2> + 0 -- par-left.operator.map -> {[]*}map | {<>*}filter_set > [3],<2> + 0" ∷
  "{[2]*}map | {<>*}filter_set > [],<2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}map | {<>!}filter_set > [],<2>* + 0" ∷
  "{[]!}map | {<2>*}filter_set > [3]*,<> + 0 -- par-right.operator.filter-set -> {[]!}map | {<>*}filter_set > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*}filter_set > [3],<2> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>*}filter_set > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*}filter_set > [3],<2> + 0 -- par-right.operator.filter-set-terminated -> {[]*}map | {<>!}filter_set > [3],<2>* + 0" ∷
  "{[2]*}map | {<>!}filter_set > [],<2>* + 0 -- par-left.operator.map -> {[]*}map | {<>!}filter_set > [3],<2>* + 0" ∷
  "{[]!}map | {<>*}filter_set > [3]*,<2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}map | {<>!}filter_set > [3]*,<2>* + 0" ∷
  "{[]*}map | {<>!}filter_set > [3],<2>* + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>!}filter_set > [3]*,<2>* + 0" ∷
  "{[]!}map | {<>!}filter_set > [3]*,<2>* + 0 is stuck" ∷
  "# map | tee_set" ∷
  "{[]}map | {<>}tee_set > [],<>,<> + 1 -- arrive -> {[2]*}map | {<2>*}tee_set > [],<>,<> + 0" ∷
  "{[2]*}map | {<2>*}tee_set > [],<>,<> + 0 -- par-left.operator.map -> {[]*}map | {<2>*}tee_set > [3],<>,<> + 0" ∷
  "{[2]*}map | {<2>*}tee_set > [],<>,<> + 0 -- par-right.operator.tee -> {[2]*}map | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[]*}map | {<2>*}tee_set > [3],<>,<> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<2>*}tee_set > [3]*,<>,<> + 0" ∷
  "{[]*}map | {<2>*}tee_set > [3],<>,<> + 0 -- par-right.operator.tee -> {[]*}map | {<>!}tee_set > [3],<2>*,<2>* + 0" ∷
  "{[2]*}map | {<>!}tee_set > [],<2>*,<2>* + 0 -- par-left.operator.map -> {[]*}map | {<>!}tee_set > [3],<2>*,<2>* + 0" ∷
  "{[]!}map | {<2>*}tee_set > [3]*,<>,<> + 0 -- par-right.operator.tee -> {[]!}map | {<>!}tee_set > [3]*,<2>*,<2>* + 0" ∷
  "{[]*}map | {<>!}tee_set > [3],<2>*,<2>* + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>!}tee_set > [3]*,<2>*,<2>* + 0" ∷
  "{[]!}map | {<>!}tee_set > [3]*,<2>*,<2>* + 0 is stuck" ∷
  "# map | union_sets" ∷
  "{[]}map | {<>,<>}union_sets > [],<> + 1 -- arrive -> {[2]*}map | {<2>*,<2>*}union_sets > [],<> + 0" ∷
  "{[2]*}map | {<2>*,<2>*}union_sets > [],<> + 0 -- par-left.operator.map -> {[]*}map | {<2>*,<2>*}union_sets > [3],<> + 0" ∷
  "{[2]*}map | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-left -> {[2]*}map | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[2]*}map | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-right -> {[2]*}map | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]*}map | {<2>*,<2>*}union_sets > [3],<> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<2>*,<2>*}union_sets > [3]*,<> + 0" ∷
  "{[]*}map | {<2>*,<2>*}union_sets > [3],<> + 0 -- par-right.operator.union-set-left -> {[]*}map | {<>*,<2>*}union_sets > [3],<2> + 0" ∷
  "{[]*}map | {<2>*,<2>*}union_sets > [3],<> + 0 -- par-right.operator.union-set-right -> {[]*}map | {<2>*,<>*}union_sets > [3],<2> + 0" ∷
  "{[2]*}map | {<>*,<2>*}union_sets > [],<2> + 0 -- par-left.operator.map -> {[]*}map | {<>*,<2>*}union_sets > [3],<2> + 0" ∷
  "{[2]*}map | {<>*,<2>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-right -> {[2]*}map | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}map | {<2>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.map -> {[]*}map | {<2>*,<>*}union_sets > [3],<2> + 0" ∷
  "{[2]*}map | {<2>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-left -> {[2]*}map | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]!}map | {<2>*,<2>*}union_sets > [3]*,<> + 0 -- par-right.operator.union-set-left -> {[]!}map | {<>*,<2>*}union_sets > [3]*,<2> + 0" ∷
  "{[]!}map | {<2>*,<2>*}union_sets > [3]*,<> + 0 -- par-right.operator.union-set-right -> {[]!}map | {<2>*,<>*}union_sets > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*,<2>*}union_sets > [3],<2> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>*,<2>*}union_sets > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*,<2>*}union_sets > [3],<2> + 0 -- par-right.operator.union-set-right -> {[]*}map | {<>*,<>*}union_sets > [3],<2> + 0" ∷
  "{[]*}map | {<2>*,<>*}union_sets > [3],<2> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<2>*,<>*}union_sets > [3]*,<2> + 0" ∷
  "{[]*}map | {<2>*,<>*}union_sets > [3],<2> + 0 -- par-right.operator.union-set-left -> {[]*}map | {<>*,<>*}union_sets > [3],<2> + 0" ∷
  "{[2]*}map | {<>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.map -> {[]*}map | {<>*,<>*}union_sets > [3],<2> + 0" ∷
  "{[2]*}map | {<>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}map | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[]!}map | {<>*,<2>*}union_sets > [3]*,<2> + 0 -- par-right.operator.union-set-right -> {[]!}map | {<>*,<>*}union_sets > [3]*,<2> + 0" ∷
  "{[]!}map | {<2>*,<>*}union_sets > [3]*,<2> + 0 -- par-right.operator.union-set-left -> {[]!}map | {<>*,<>*}union_sets > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*,<>*}union_sets > [3],<2> + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>*,<>*}union_sets > [3]*,<2> + 0" ∷
  "{[]*}map | {<>*,<>*}union_sets > [3],<2> + 0 -- par-right.operator.union-set-terminated -> {[]*}map | {<>!,<>!}union_sets > [3],<2>* + 0" ∷
  "{[2]*}map | {<>!,<>!}union_sets > [],<2>* + 0 -- par-left.operator.map -> {[]*}map | {<>!,<>!}union_sets > [3],<2>* + 0" ∷
  "{[]!}map | {<>*,<>*}union_sets > [3]*,<2> + 0 -- par-right.operator.union-set-terminated -> {[]!}map | {<>!,<>!}union_sets > [3]*,<2>* + 0" ∷
  "{[]*}map | {<>!,<>!}union_sets > [3],<2>* + 0 -- par-left.operator.map-terminator -> {[]!}map | {<>!,<>!}union_sets > [3]*,<2>* + 0" ∷
  "{[]!}map | {<>!,<>!}union_sets > [3]*,<2>* + 0 is stuck" ∷
  "# filter | map" ∷
  "{[]}filter | {[]}map > [],[] + 1 -- arrive -> {[2]*}filter | {[2]*}map > [],[] + 0" ∷
  "{[2]*}filter | {[2]*}map > [],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}map > [2],[] + 0" ∷
  "{[2]*}filter | {[2]*}map > [],[] + 0 -- par-right.operator.map -> {[2]*}filter | {[]*}map > [],[3] + 0" ∷
  "{[]*}filter | {[2]*}map > [2],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}map > [2]*,[] + 0" ∷
  "{[]*}filter | {[2]*}map > [2],[] + 0 -- par-right.operator.map -> {[]*}filter | {[]*}map > [2],[3] + 0" ∷
  "{[2]*}filter | {[]*}map > [],[3] + 0 -- par-left.operator.filter -> {[]*}filter | {[]*}map > [2],[3] + 0" ∷
  "{[2]*}filter | {[]*}map > [],[3] + 0 -- par-right.operator.map-terminator -> {[2]*}filter | {[]!}map > [],[3]* + 0" ∷
  "{[]!}filter | {[2]*}map > [2]*,[] + 0 -- par-right.operator.map -> {[]!}filter | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}filter | {[]*}map > [2],[3] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}filter | {[]*}map > [2],[3] + 0 -- par-right.operator.map-terminator -> {[]*}filter | {[]!}map > [2],[3]* + 0" ∷
  "{[2]*}filter | {[]!}map > [],[3]* + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}map > [2],[3]* + 0" ∷
  "{[]!}filter | {[]*}map > [2]*,[3] + 0 -- par-right.operator.map-terminator -> {[]!}filter | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]*}filter | {[]!}map > [2],[3]* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]!}filter | {[]!}map > [2]*,[3]* + 0 is stuck" ∷
  "# filter | filter" ∷
  "{[]}filter | {[]}filter > [],[] + 1 -- arrive -> {[2]*}filter | {[2]*}filter > [],[] + 0" ∷
  "{[2]*}filter | {[2]*}filter > [],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}filter > [2],[] + 0" ∷
  "{[2]*}filter | {[2]*}filter > [],[] + 0 -- par-right.operator.filter -> {[2]*}filter | {[]*}filter > [],[2] + 0" ∷
  "{[]*}filter | {[2]*}filter > [2],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}filter > [2]*,[] + 0" ∷
  "{[]*}filter | {[2]*}filter > [2],[] + 0 -- par-right.operator.filter -> {[]*}filter | {[]*}filter > [2],[2] + 0" ∷
  "{[2]*}filter | {[]*}filter > [],[2] + 0 -- par-left.operator.filter -> {[]*}filter | {[]*}filter > [2],[2] + 0" ∷
  "{[2]*}filter | {[]*}filter > [],[2] + 0 -- par-right.operator.filter-terminator -> {[2]*}filter | {[]!}filter > [],[2]* + 0" ∷
  "{[]!}filter | {[2]*}filter > [2]*,[] + 0 -- par-right.operator.filter -> {[]!}filter | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}filter | {[]*}filter > [2],[2] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}filter | {[]*}filter > [2],[2] + 0 -- par-right.operator.filter-terminator -> {[]*}filter | {[]!}filter > [2],[2]* + 0" ∷
  "{[2]*}filter | {[]!}filter > [],[2]* + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}filter > [2],[2]* + 0" ∷
  "{[]!}filter | {[]*}filter > [2]*,[2] + 0 -- par-right.operator.filter-terminator -> {[]!}filter | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]*}filter | {[]!}filter > [2],[2]* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]!}filter | {[]!}filter > [2]*,[2]* + 0 is stuck" ∷
  "# filter | scan" ∷
  "{[]}filter | {[]}scan(0) > [],[] + 1 -- arrive -> {[2]*}filter | {[2]*}scan(0) > [],[] + 0" ∷
  "{[2]*}filter | {[2]*}scan(0) > [],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}scan(0) > [2],[] + 0" ∷
  "{[2]*}filter | {[2]*}scan(0) > [],[] + 0 -- par-right.operator.scan -> {[2]*}filter | {[]*}scan(2) > [],[2] + 0" ∷
  "{[]*}filter | {[2]*}scan(0) > [2],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}scan(0) > [2]*,[] + 0" ∷
  "{[]*}filter | {[2]*}scan(0) > [2],[] + 0 -- par-right.operator.scan -> {[]*}filter | {[]*}scan(2) > [2],[2] + 0" ∷
  "{[2]*}filter | {[]*}scan(2) > [],[2] + 0 -- par-left.operator.filter -> {[]*}filter | {[]*}scan(2) > [2],[2] + 0" ∷
  "{[2]*}filter | {[]*}scan(2) > [],[2] + 0 -- par-right.operator.scan-terminator -> {[2]*}filter | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[]!}filter | {[2]*}scan(0) > [2]*,[] + 0 -- par-right.operator.scan -> {[]!}filter | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}filter | {[]*}scan(2) > [2],[2] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}filter | {[]*}scan(2) > [2],[2] + 0 -- par-right.operator.scan-terminator -> {[]*}filter | {[]!}scan(2) > [2],[2]* + 0" ∷
  "{[2]*}filter | {[]!}scan(2) > [],[2]* + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}scan(2) > [2],[2]* + 0" ∷
  "{[]!}filter | {[]*}scan(2) > [2]*,[2] + 0 -- par-right.operator.scan-terminator -> {[]!}filter | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]*}filter | {[]!}scan(2) > [2],[2]* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]!}filter | {[]!}scan(2) > [2]*,[2]* + 0 is stuck" ∷
  "# filter | fold" ∷
  "{[]}filter | {[]}fold(0) > [],[] + 1 -- arrive -> {[2]*}filter | {[2]*}fold(0) > [],[] + 0" ∷
  "{[2]*}filter | {[2]*}fold(0) > [],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}fold(0) > [2],[] + 0" ∷
  "{[2]*}filter | {[2]*}fold(0) > [],[] + 0 -- par-right.operator.fold -> {[2]*}filter | {[]*}fold(2) > [],[] + 0" ∷
  "{[]*}filter | {[2]*}fold(0) > [2],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}fold(0) > [2]*,[] + 0" ∷
  "{[]*}filter | {[2]*}fold(0) > [2],[] + 0 -- par-right.operator.fold -> {[]*}filter | {[]*}fold(2) > [2],[] + 0" ∷
  "{[2]*}filter | {[]*}fold(2) > [],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[]*}fold(2) > [2],[] + 0" ∷
  "{[2]*}filter | {[]*}fold(2) > [],[] + 0 -- par-right.operator.fold-terminator -> {[2]*}filter | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[]!}filter | {[2]*}fold(0) > [2]*,[] + 0 -- par-right.operator.fold -> {[]!}filter | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}filter | {[]*}fold(2) > [2],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}filter | {[]*}fold(2) > [2],[] + 0 -- par-right.operator.fold-terminator -> {[]*}filter | {[]!}fold(2) > [2],[2]* + 0" ∷
  "{[2]*}filter | {[]!}fold(2) > [],[2]* + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}fold(2) > [2],[2]* + 0" ∷
  "{[]!}filter | {[]*}fold(2) > [2]*,[] + 0 -- par-right.operator.fold-terminator -> {[]!}filter | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]*}filter | {[]!}fold(2) > [2],[2]* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]!}filter | {[]!}fold(2) > [2]*,[2]* + 0 is stuck" ∷
  "# filter | tee" ∷
  "{[]}filter | {[]}tee > [],[],[] + 1 -- arrive -> {[2]*}filter | {[2]*}tee > [],[],[] + 0" ∷
  "{[2]*}filter | {[2]*}tee > [],[],[] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}tee > [2],[],[] + 0" ∷
  "{[2]*}filter | {[2]*}tee > [],[],[] + 0 -- par-right.operator.tee -> {[2]*}filter | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[]*}filter | {[2]*}tee > [2],[],[] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}tee > [2]*,[],[] + 0" ∷
  "{[]*}filter | {[2]*}tee > [2],[],[] + 0 -- par-right.operator.tee -> {[]*}filter | {[]!}tee > [2],[2]*,[2]* + 0" ∷
  "{[2]*}filter | {[]!}tee > [],[2]*,[2]* + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}tee > [2],[2]*,[2]* + 0" ∷
  "{[]!}filter | {[2]*}tee > [2]*,[],[] + 0 -- par-right.operator.tee -> {[]!}filter | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]*}filter | {[]!}tee > [2],[2]*,[2]* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}filter | {[]!}tee > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# filter | drop" ∷
  "{[]}filter | {[]}drop > [] + 1 -- arrive -> {[2]*}filter | {[2]*}drop > [] + 0" ∷
  "{[2]*}filter | {[2]*}drop > [] + 0 -- par-left.operator.filter -> {[]*}filter | {[2]*}drop > [2] + 0" ∷
  "{[2]*}filter | {[2]*}drop > [] + 0 -- par-right.operator.drop -> {[2]*}filter | {[]!}drop > [] + 0" ∷
  "{[]*}filter | {[2]*}drop > [2] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[2]*}drop > [2]* + 0" ∷
  "{[]*}filter | {[2]*}drop > [2] + 0 -- par-right.operator.drop -> {[]*}filter | {[]!}drop > [2] + 0" ∷
  "{[2]*}filter | {[]!}drop > [] + 0 -- par-left.operator.filter -> {[]*}filter | {[]!}drop > [2] + 0" ∷
  "{[]!}filter | {[2]*}drop > [2]* + 0 -- par-right.operator.drop -> {[]!}filter | {[]!}drop > [2]* + 0" ∷
  "{[]*}filter | {[]!}drop > [2] + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {[]!}drop > [2]* + 0" ∷
  "{[]!}filter | {[]!}drop > [2]* + 0 is stuck" ∷
  "# filter | map_set" ∷
  "{[]}filter | {<>}map_set > [],<> + 1 -- arrive -> {[2]*}filter | {<2>*}map_set > [],<> + 0" ∷
  "{[2]*}filter | {<2>*}map_set > [],<> + 0 -- par-left.operator.filter -> {[]*}filter | {<2>*}map_set > [2],<> + 0" ∷
  "{[2]*}filter | {<2>*}map_set > [],<> + 0 -- par-right.operator.map-set -> {[2]*}filter | {<>*}map_set > [],<3> + 0" ∷
  "{[]*}filter | {<2>*}map_set > [2],<> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<2>*}map_set > [2]*,<> + 0" ∷
  "{[]*}filter | {<2>*}map_set > [2],<> + 0 -- par-right.operator.map-set -> {[]*}filter | {<>*}map_set > [2],<3> + 0" ∷
  "{[2]*}filter | {<>*}map_set > [],<3> + 0 -- par-left.operator.filter -> {[]*}filter | {<>*}map_set > [2],<3> + 0" ∷
  "{[2]*}filter | {<>*}map_set > [],<3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}filter | {<>!}map_set > [],<3>* + 0" ∷
  "{[]!}filter | {<2>*}map_set > [2]*,<> + 0 -- par-right.operator.map-set -> {[]!}filter | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}filter | {<>*}map_set > [2],<3> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}filter | {<>*}map_set > [2],<3> + 0 -- par-right.operator.map-set-terminated -> {[]*}filter | {<>!}map_set > [2],<3>* + 0" ∷
  "{[2]*}filter | {<>!}map_set > [],<3>* + 0 -- par-left.operator.filter -> {[]*}filter | {<>!}map_set > [2],<3>* + 0" ∷
  "{[]!}filter | {<>*}map_set > [2]*,<3> + 0 -- par-right.operator.map-set-terminated -> {[]!}filter | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]*}filter | {<>!}map_set > [2],<3>* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]!}filter | {<>!}map_set > [2]*,<3>* + 0 is stuck" ∷
  "# filter | filter_set" ∷
  "{[]}filter | {<>}filter_set > [],<> + 1 -- arrive -> {[2]*}filter | {<2>*}filter_set > [],<> + 0" ∷
  "{[2]*}filter | {<2>*}filter_set > [],<> + 0 -- par-left.operator.filter -> {[]*}filter | {<2>*}filter_set > [2],<> + 0" ∷
  "{[2]*}filter | {<2>*}filter_set > [],<> + 0 -- par-right.operator.filter-set -> {[2]*}filter | {<>*}filter_set > [],<2> + 0" ∷
  "{[]*}filter | {<2>*}filter_set > [2],<> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<2>*}filter_set > [2]*,<> + 0" ∷
  "{[]*}filter | {<2>*}filter_set > [2],<> + 0 -- par-right.operator.filter-set -> {[]*}filter | {<>*}filter_set > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*}filter_set > [],<2> + 0 -- par-left.operator.filter -> {[]*}filter | {<>*}filter_set > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*}filter_set > [],<2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}filter | {<>!}filter_set > [],<2>* + 0" ∷
  "{[]!}filter | {<2>*}filter_set > [2]*,<> + 0 -- par-right.operator.filter-set -> {[]!}filter | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*}filter_set > [2],<2> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*}filter_set > [2],<2> + 0 -- par-right.operator.filter-set-terminated -> {[]*}filter | {<>!}filter_set > [2],<2>* + 0" ∷
  "{[2]*}filter | {<>!}filter_set > [],<2>* + 0 -- par-left.operator.filter -> {[]*}filter | {<>!}filter_set > [2],<2>* + 0" ∷
  "{[]!}filter | {<>*}filter_set > [2]*,<2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}filter | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]*}filter | {<>!}filter_set > [2],<2>* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]!}filter | {<>!}filter_set > [2]*,<2>* + 0 is stuck" ∷
  "# filter | tee_set" ∷
  "{[]}filter | {<>}tee_set > [],<>,<> + 1 -- arrive -> {[2]*}filter | {<2>*}tee_set > [],<>,<> + 0" ∷
  "{[2]*}filter | {<2>*}tee_set > [],<>,<> + 0 -- par-left.operator.filter -> {[]*}filter | {<2>*}tee_set > [2],<>,<> + 0" ∷
  "{[2]*}filter | {<2>*}tee_set > [],<>,<> + 0 -- par-right.operator.tee -> {[2]*}filter | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[]*}filter | {<2>*}tee_set > [2],<>,<> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<2>*}tee_set > [2]*,<>,<> + 0" ∷
  "{[]*}filter | {<2>*}tee_set > [2],<>,<> + 0 -- par-right.operator.tee -> {[]*}filter | {<>!}tee_set > [2],<2>*,<2>* + 0" ∷
  "{[2]*}filter | {<>!}tee_set > [],<2>*,<2>* + 0 -- par-left.operator.filter -> {[]*}filter | {<>!}tee_set > [2],<2>*,<2>* + 0" ∷
  "{[]!}filter | {<2>*}tee_set > [2]*,<>,<> + 0 -- par-right.operator.tee -> {[]!}filter | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]*}filter | {<>!}tee_set > [2],<2>*,<2>* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]!}filter | {<>!}tee_set > [2]*,<2>*,<2>* + 0 is stuck" ∷
  "# filter | union_sets" ∷
  "{[]}filter | {<>,<>}union_sets > [],<> + 1 -- arrive -> {[2]*}filter | {<2>*,<2>*}union_sets > [],<> + 0" ∷
  "{[2]*}filter | {<2>*,<2>*}union_sets > [],<> + 0 -- par-left.operator.filter -> {[]*}filter | {<2>*,<2>*}union_sets > [2],<> + 0" ∷
  "{[2]*}filter | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-left -> {[2]*}filter | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[2]*}filter | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-right -> {[2]*}filter | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]*}filter | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<2>*,<2>*}union_sets > [2]*,<> + 0" ∷
  "{[]*}filter | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-right.operator.union-set-left -> {[]*}filter | {<>*,<2>*}union_sets > [2],<2> + 0" ∷
  "{[]*}filter | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-right.operator.union-set-right -> {[]*}filter | {<2>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*,<2>*}union_sets > [],<2> + 0 -- par-left.operator.filter -> {[]*}filter | {<>*,<2>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*,<2>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-right -> {[2]*}filter | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}filter | {<2>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.filter -> {[]*}filter | {<2>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}filter | {<2>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-left -> {[2]*}filter | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]!}filter | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-left -> {[]!}filter | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}filter | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-right -> {[]!}filter | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*,<2>*}union_sets > [2],<2> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*,<2>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-right -> {[]*}filter | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[]*}filter | {<2>*,<>*}union_sets > [2],<2> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}filter | {<2>*,<>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-left -> {[]*}filter | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.filter -> {[]*}filter | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}filter | {<>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}filter | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[]!}filter | {<>*,<2>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-right -> {[]!}filter | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}filter | {<2>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-left -> {[]!}filter | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*,<>*}union_sets > [2],<2> + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}filter | {<>*,<>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-terminated -> {[]*}filter | {<>!,<>!}union_sets > [2],<2>* + 0" ∷
  "{[2]*}filter | {<>!,<>!}union_sets > [],<2>* + 0 -- par-left.operator.filter -> {[]*}filter | {<>!,<>!}union_sets > [2],<2>* + 0" ∷
  "{[]!}filter | {<>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-terminated -> {[]!}filter | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]*}filter | {<>!,<>!}union_sets > [2],<2>* + 0 -- par-left.operator.filter-terminator -> {[]!}filter | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]!}filter | {<>!,<>!}union_sets > [2]*,<2>* + 0 is stuck" ∷
  "# scan | map" ∷
  "{[]}scan(0) | {[]}map > [],[] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}map > [],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}map > [],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}map > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}map > [],[] + 0 -- par-right.operator.map -> {[2]*}scan(0) | {[]*}map > [],[3] + 0" ∷
  "{[]*}scan(2) | {[2]*}map > [2],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}map > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[2]*}map > [2],[] + 0 -- par-right.operator.map -> {[]*}scan(2) | {[]*}map > [2],[3] + 0" ∷
  "{[2]*}scan(0) | {[]*}map > [],[3] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]*}map > [2],[3] + 0" ∷
  "{[2]*}scan(0) | {[]*}map > [],[3] + 0 -- par-right.operator.map-terminator -> {[2]*}scan(0) | {[]!}map > [],[3]* + 0" ∷
  "{[]!}scan(2) | {[2]*}map > [2]*,[] + 0 -- par-right.operator.map -> {[]!}scan(2) | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}scan(2) | {[]*}map > [2],[3] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}scan(2) | {[]*}map > [2],[3] + 0 -- par-right.operator.map-terminator -> {[]*}scan(2) | {[]!}map > [2],[3]* + 0" ∷
  "{[2]*}scan(0) | {[]!}map > [],[3]* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}map > [2],[3]* + 0" ∷
  "{[]!}scan(2) | {[]*}map > [2]*,[3] + 0 -- par-right.operator.map-terminator -> {[]!}scan(2) | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]*}scan(2) | {[]!}map > [2],[3]* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]!}scan(2) | {[]!}map > [2]*,[3]* + 0 is stuck" ∷
  "# scan | filter" ∷
  "{[]}scan(0) | {[]}filter > [],[] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}filter > [],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}filter > [],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}filter > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}filter > [],[] + 0 -- par-right.operator.filter -> {[2]*}scan(0) | {[]*}filter > [],[2] + 0" ∷
  "{[]*}scan(2) | {[2]*}filter > [2],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}filter > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[2]*}filter > [2],[] + 0 -- par-right.operator.filter -> {[]*}scan(2) | {[]*}filter > [2],[2] + 0" ∷
  "{[2]*}scan(0) | {[]*}filter > [],[2] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]*}filter > [2],[2] + 0" ∷
  "{[2]*}scan(0) | {[]*}filter > [],[2] + 0 -- par-right.operator.filter-terminator -> {[2]*}scan(0) | {[]!}filter > [],[2]* + 0" ∷
  "{[]!}scan(2) | {[2]*}filter > [2]*,[] + 0 -- par-right.operator.filter -> {[]!}scan(2) | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}scan(2) | {[]*}filter > [2],[2] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}scan(2) | {[]*}filter > [2],[2] + 0 -- par-right.operator.filter-terminator -> {[]*}scan(2) | {[]!}filter > [2],[2]* + 0" ∷
  "{[2]*}scan(0) | {[]!}filter > [],[2]* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}filter > [2],[2]* + 0" ∷
  "{[]!}scan(2) | {[]*}filter > [2]*,[2] + 0 -- par-right.operator.filter-terminator -> {[]!}scan(2) | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]*}scan(2) | {[]!}filter > [2],[2]* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]!}scan(2) | {[]!}filter > [2]*,[2]* + 0 is stuck" ∷
  "# scan | scan" ∷
  "{[]}scan(0) | {[]}scan(0) > [],[] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}scan(0) > [],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}scan(0) > [],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}scan(0) > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}scan(0) > [],[] + 0 -- par-right.operator.scan -> {[2]*}scan(0) | {[]*}scan(2) > [],[2] + 0" ∷
  "{[]*}scan(2) | {[2]*}scan(0) > [2],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}scan(0) > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[2]*}scan(0) > [2],[] + 0 -- par-right.operator.scan -> {[]*}scan(2) | {[]*}scan(2) > [2],[2] + 0" ∷
  "{[2]*}scan(0) | {[]*}scan(2) > [],[2] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]*}scan(2) > [2],[2] + 0" ∷
  "{[2]*}scan(0) | {[]*}scan(2) > [],[2] + 0 -- par-right.operator.scan-terminator -> {[2]*}scan(0) | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[]!}scan(2) | {[2]*}scan(0) > [2]*,[] + 0 -- par-right.operator.scan -> {[]!}scan(2) | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}scan(2) | {[]*}scan(2) > [2],[2] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}scan(2) | {[]*}scan(2) > [2],[2] + 0 -- par-right.operator.scan-terminator -> {[]*}scan(2) | {[]!}scan(2) > [2],[2]* + 0" ∷
  "{[2]*}scan(0) | {[]!}scan(2) > [],[2]* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}scan(2) > [2],[2]* + 0" ∷
  "{[]!}scan(2) | {[]*}scan(2) > [2]*,[2] + 0 -- par-right.operator.scan-terminator -> {[]!}scan(2) | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]*}scan(2) | {[]!}scan(2) > [2],[2]* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]!}scan(2) | {[]!}scan(2) > [2]*,[2]* + 0 is stuck" ∷
  "# scan | fold" ∷
  "{[]}scan(0) | {[]}fold(0) > [],[] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}fold(0) > [],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}fold(0) > [],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}fold(0) > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}fold(0) > [],[] + 0 -- par-right.operator.fold -> {[2]*}scan(0) | {[]*}fold(2) > [],[] + 0" ∷
  "{[]*}scan(2) | {[2]*}fold(0) > [2],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}fold(0) > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[2]*}fold(0) > [2],[] + 0 -- par-right.operator.fold -> {[]*}scan(2) | {[]*}fold(2) > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[]*}fold(2) > [],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]*}fold(2) > [2],[] + 0" ∷
  "{[2]*}scan(0) | {[]*}fold(2) > [],[] + 0 -- par-right.operator.fold-terminator -> {[2]*}scan(0) | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[]!}scan(2) | {[2]*}fold(0) > [2]*,[] + 0 -- par-right.operator.fold -> {[]!}scan(2) | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[]*}fold(2) > [2],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}scan(2) | {[]*}fold(2) > [2],[] + 0 -- par-right.operator.fold-terminator -> {[]*}scan(2) | {[]!}fold(2) > [2],[2]* + 0" ∷
  "{[2]*}scan(0) | {[]!}fold(2) > [],[2]* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}fold(2) > [2],[2]* + 0" ∷
  "{[]!}scan(2) | {[]*}fold(2) > [2]*,[] + 0 -- par-right.operator.fold-terminator -> {[]!}scan(2) | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]*}scan(2) | {[]!}fold(2) > [2],[2]* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]!}scan(2) | {[]!}fold(2) > [2]*,[2]* + 0 is stuck" ∷
  "# scan | tee" ∷
  "{[]}scan(0) | {[]}tee > [],[],[] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}tee > [],[],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}tee > [],[],[] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}tee > [2],[],[] + 0" ∷
  "{[2]*}scan(0) | {[2]*}tee > [],[],[] + 0 -- par-right.operator.tee -> {[2]*}scan(0) | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[]*}scan(2) | {[2]*}tee > [2],[],[] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}tee > [2]*,[],[] + 0" ∷
  "{[]*}scan(2) | {[2]*}tee > [2],[],[] + 0 -- par-right.operator.tee -> {[]*}scan(2) | {[]!}tee > [2],[2]*,[2]* + 0" ∷
  "{[2]*}scan(0) | {[]!}tee > [],[2]*,[2]* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}tee > [2],[2]*,[2]* + 0" ∷
  "{[]!}scan(2) | {[2]*}tee > [2]*,[],[] + 0 -- par-right.operator.tee -> {[]!}scan(2) | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]*}scan(2) | {[]!}tee > [2],[2]*,[2]* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}scan(2) | {[]!}tee > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# scan | drop" ∷
  "{[]}scan(0) | {[]}drop > [] + 1 -- arrive -> {[2]*}scan(0) | {[2]*}drop > [] + 0" ∷
  "{[2]*}scan(0) | {[2]*}drop > [] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[2]*}drop > [2] + 0" ∷
  "{[2]*}scan(0) | {[2]*}drop > [] + 0 -- par-right.operator.drop -> {[2]*}scan(0) | {[]!}drop > [] + 0" ∷
  "{[]*}scan(2) | {[2]*}drop > [2] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[2]*}drop > [2]* + 0" ∷
  "{[]*}scan(2) | {[2]*}drop > [2] + 0 -- par-right.operator.drop -> {[]*}scan(2) | {[]!}drop > [2] + 0" ∷
  "{[2]*}scan(0) | {[]!}drop > [] + 0 -- par-left.operator.scan -> {[]*}scan(2) | {[]!}drop > [2] + 0" ∷
  "{[]!}scan(2) | {[2]*}drop > [2]* + 0 -- par-right.operator.drop -> {[]!}scan(2) | {[]!}drop > [2]* + 0" ∷
  "{[]*}scan(2) | {[]!}drop > [2] + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {[]!}drop > [2]* + 0" ∷
  "{[]!}scan(2) | {[]!}drop > [2]* + 0 is stuck" ∷
  "# scan | map_set" ∷
  "{[]}scan(0) | {<>}map_set > [],<> + 1 -- arrive -> {[2]*}scan(0) | {<2>*}map_set > [],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}map_set > [],<> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<2>*}map_set > [2],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}map_set > [],<> + 0 -- par-right.operator.map-set -> {[2]*}scan(0) | {<>*}map_set > [],<3> + 0" ∷
  "{[]*}scan(2) | {<2>*}map_set > [2],<> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<2>*}map_set > [2]*,<> + 0" ∷
  "{[]*}scan(2) | {<2>*}map_set > [2],<> + 0 -- par-right.operator.map-set -> {[]*}scan(2) | {<>*}map_set > [2],<3> + 0" ∷
  "{[2]*}scan(0) | {<>*}map_set > [],<3> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>*}map_set > [2],<3> + 0" ∷
  "{[2]*}scan(0) | {<>*}map_set > [],<3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}scan(0) | {<>!}map_set > [],<3>* + 0" ∷
  "{[]!}scan(2) | {<2>*}map_set > [2]*,<> + 0 -- par-right.operator.map-set -> {[]!}scan(2) | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}scan(2) | {<>*}map_set > [2],<3> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}scan(2) | {<>*}map_set > [2],<3> + 0 -- par-right.operator.map-set-terminated -> {[]*}scan(2) | {<>!}map_set > [2],<3>* + 0" ∷
  "{[2]*}scan(0) | {<>!}map_set > [],<3>* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>!}map_set > [2],<3>* + 0" ∷
  "{[]!}scan(2) | {<>*}map_set > [2]*,<3> + 0 -- par-right.operator.map-set-terminated -> {[]!}scan(2) | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]*}scan(2) | {<>!}map_set > [2],<3>* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]!}scan(2) | {<>!}map_set > [2]*,<3>* + 0 is stuck" ∷
  "# scan | filter_set" ∷
  "{[]}scan(0) | {<>}filter_set > [],<> + 1 -- arrive -> {[2]*}scan(0) | {<2>*}filter_set > [],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}filter_set > [],<> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<2>*}filter_set > [2],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}filter_set > [],<> + 0 -- par-right.operator.filter-set -> {[2]*}scan(0) | {<>*}filter_set > [],<2> + 0" ∷
  "{[]*}scan(2) | {<2>*}filter_set > [2],<> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<2>*}filter_set > [2]*,<> + 0" ∷
  "{[]*}scan(2) | {<2>*}filter_set > [2],<> + 0 -- par-right.operator.filter-set -> {[]*}scan(2) | {<>*}filter_set > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*}filter_set > [],<2> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>*}filter_set > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*}filter_set > [],<2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}scan(0) | {<>!}filter_set > [],<2>* + 0" ∷
  "{[]!}scan(2) | {<2>*}filter_set > [2]*,<> + 0 -- par-right.operator.filter-set -> {[]!}scan(2) | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*}filter_set > [2],<2> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*}filter_set > [2],<2> + 0 -- par-right.operator.filter-set-terminated -> {[]*}scan(2) | {<>!}filter_set > [2],<2>* + 0" ∷
  "{[2]*}scan(0) | {<>!}filter_set > [],<2>* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>!}filter_set > [2],<2>* + 0" ∷
  "{[]!}scan(2) | {<>*}filter_set > [2]*,<2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}scan(2) | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]*}scan(2) | {<>!}filter_set > [2],<2>* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]!}scan(2) | {<>!}filter_set > [2]*,<2>* + 0 is stuck" ∷
  "# scan | tee_set" ∷
  "{[]}scan(0) | {<>}tee_set > [],<>,<> + 1 -- arrive -> {[2]*}scan(0) | {<2>*}tee_set > [],<>,<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}tee_set > [],<>,<> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<2>*}tee_set > [2],<>,<> + 0" ∷
  "{[2]*}scan(0) | {<2>*}tee_set > [],<>,<> + 0 -- par-right.operator.tee -> {[2]*}scan(0) | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[]*}scan(2) | {<2>*}tee_set > [2],<>,<> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<2>*}tee_set > [2]*,<>,<> + 0" ∷
  "{[]*}scan(2) | {<2>*}tee_set > [2],<>,<> + 0 -- par-right.operator.tee -> {[]*}scan(2) | {<>!}tee_set > [2],<2>*,<2>* + 0" ∷
  "{[2]*}scan(0) | {<>!}tee_set > [],<2>*,<2>* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>!}tee_set > [2],<2>*,<2>* + 0" ∷
  "{[]!}scan(2) | {<2>*}tee_set > [2]*,<>,<> + 0 -- par-right.operator.tee -> {[]!}scan(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]*}scan(2) | {<>!}tee_set > [2],<2>*,<2>* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]!}scan(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0 is stuck" ∷
  "# scan | union_sets" ∷
  "{[]}scan(0) | {<>,<>}union_sets > [],<> + 1 -- arrive -> {[2]*}scan(0) | {<2>*,<2>*}union_sets > [],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<2>*,<2>*}union_sets > [2],<> + 0" ∷
  "{[2]*}scan(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-left -> {[2]*}scan(0) | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[2]*}scan(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-right -> {[2]*}scan(0) | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]*}scan(2) | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0" ∷
  "{[]*}scan(2) | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-right.operator.union-set-left -> {[]*}scan(2) | {<>*,<2>*}union_sets > [2],<2> + 0" ∷
  "{[]*}scan(2) | {<2>*,<2>*}union_sets > [2],<> + 0 -- par-right.operator.union-set-right -> {[]*}scan(2) | {<2>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>*,<2>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-right -> {[2]*}scan(0) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}scan(0) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<2>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-left -> {[2]*}scan(0) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]!}scan(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-left -> {[]!}scan(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}scan(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-right -> {[]!}scan(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*,<2>*}union_sets > [2],<2> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*,<2>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-right -> {[]*}scan(2) | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[]*}scan(2) | {<2>*,<>*}union_sets > [2],<2> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<2>*,<>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-left -> {[]*}scan(2) | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>*,<>*}union_sets > [2],<2> + 0" ∷
  "{[2]*}scan(0) | {<>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}scan(0) | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[]!}scan(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-right -> {[]!}scan(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}scan(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-left -> {[]!}scan(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*,<>*}union_sets > [2],<2> + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}scan(2) | {<>*,<>*}union_sets > [2],<2> + 0 -- par-right.operator.union-set-terminated -> {[]*}scan(2) | {<>!,<>!}union_sets > [2],<2>* + 0" ∷
  "{[2]*}scan(0) | {<>!,<>!}union_sets > [],<2>* + 0 -- par-left.operator.scan -> {[]*}scan(2) | {<>!,<>!}union_sets > [2],<2>* + 0" ∷
  "{[]!}scan(2) | {<>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-terminated -> {[]!}scan(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]*}scan(2) | {<>!,<>!}union_sets > [2],<2>* + 0 -- par-left.operator.scan-terminator -> {[]!}scan(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]!}scan(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0 is stuck" ∷
  "# fold | map" ∷
  "{[]}fold(0) | {[]}map > [],[] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}map > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}map > [],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}map > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}map > [],[] + 0 -- par-right.operator.map -> {[2]*}fold(0) | {[]*}map > [],[3] + 0" ∷
  "{[]*}fold(2) | {[2]*}map > [],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}map > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[2]*}map > [],[] + 0 -- par-right.operator.map -> {[]*}fold(2) | {[]*}map > [],[3] + 0" ∷
  "{[2]*}fold(0) | {[]*}map > [],[3] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]*}map > [],[3] + 0" ∷
  "{[2]*}fold(0) | {[]*}map > [],[3] + 0 -- par-right.operator.map-terminator -> {[2]*}fold(0) | {[]!}map > [],[3]* + 0" ∷
  "{[]!}fold(2) | {[2]*}map > [2]*,[] + 0 -- par-right.operator.map -> {[]!}fold(2) | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}fold(2) | {[]*}map > [],[3] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]*}map > [2]*,[3] + 0" ∷
  "{[]*}fold(2) | {[]*}map > [],[3] + 0 -- par-right.operator.map-terminator -> {[]*}fold(2) | {[]!}map > [],[3]* + 0" ∷
  "{[2]*}fold(0) | {[]!}map > [],[3]* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}map > [],[3]* + 0" ∷
  "{[]!}fold(2) | {[]*}map > [2]*,[3] + 0 -- par-right.operator.map-terminator -> {[]!}fold(2) | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]*}fold(2) | {[]!}map > [],[3]* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}map > [2]*,[3]* + 0" ∷
  "{[]!}fold(2) | {[]!}map > [2]*,[3]* + 0 is stuck" ∷
  "# fold | filter" ∷
  "{[]}fold(0) | {[]}filter > [],[] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}filter > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}filter > [],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}filter > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}filter > [],[] + 0 -- par-right.operator.filter -> {[2]*}fold(0) | {[]*}filter > [],[2] + 0" ∷
  "{[]*}fold(2) | {[2]*}filter > [],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}filter > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[2]*}filter > [],[] + 0 -- par-right.operator.filter -> {[]*}fold(2) | {[]*}filter > [],[2] + 0" ∷
  "{[2]*}fold(0) | {[]*}filter > [],[2] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]*}filter > [],[2] + 0" ∷
  "{[2]*}fold(0) | {[]*}filter > [],[2] + 0 -- par-right.operator.filter-terminator -> {[2]*}fold(0) | {[]!}filter > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[2]*}filter > [2]*,[] + 0 -- par-right.operator.filter -> {[]!}fold(2) | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}fold(2) | {[]*}filter > [],[2] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]*}filter > [2]*,[2] + 0" ∷
  "{[]*}fold(2) | {[]*}filter > [],[2] + 0 -- par-right.operator.filter-terminator -> {[]*}fold(2) | {[]!}filter > [],[2]* + 0" ∷
  "{[2]*}fold(0) | {[]!}filter > [],[2]* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}filter > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[]*}filter > [2]*,[2] + 0 -- par-right.operator.filter-terminator -> {[]!}fold(2) | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]*}fold(2) | {[]!}filter > [],[2]* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}filter > [2]*,[2]* + 0" ∷
  "{[]!}fold(2) | {[]!}filter > [2]*,[2]* + 0 is stuck" ∷
  "# fold | scan" ∷
  "{[]}fold(0) | {[]}scan(0) > [],[] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}scan(0) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}scan(0) > [],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}scan(0) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}scan(0) > [],[] + 0 -- par-right.operator.scan -> {[2]*}fold(0) | {[]*}scan(2) > [],[2] + 0" ∷
  "{[]*}fold(2) | {[2]*}scan(0) > [],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}scan(0) > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[2]*}scan(0) > [],[] + 0 -- par-right.operator.scan -> {[]*}fold(2) | {[]*}scan(2) > [],[2] + 0" ∷
  "{[2]*}fold(0) | {[]*}scan(2) > [],[2] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]*}scan(2) > [],[2] + 0" ∷
  "{[2]*}fold(0) | {[]*}scan(2) > [],[2] + 0 -- par-right.operator.scan-terminator -> {[2]*}fold(0) | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[2]*}scan(0) > [2]*,[] + 0 -- par-right.operator.scan -> {[]!}fold(2) | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}fold(2) | {[]*}scan(2) > [],[2] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]*}scan(2) > [2]*,[2] + 0" ∷
  "{[]*}fold(2) | {[]*}scan(2) > [],[2] + 0 -- par-right.operator.scan-terminator -> {[]*}fold(2) | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[2]*}fold(0) | {[]!}scan(2) > [],[2]* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}scan(2) > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[]*}scan(2) > [2]*,[2] + 0 -- par-right.operator.scan-terminator -> {[]!}fold(2) | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]*}fold(2) | {[]!}scan(2) > [],[2]* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}scan(2) > [2]*,[2]* + 0" ∷
  "{[]!}fold(2) | {[]!}scan(2) > [2]*,[2]* + 0 is stuck" ∷
  "# fold | fold" ∷
  "{[]}fold(0) | {[]}fold(0) > [],[] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}fold(0) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}fold(0) > [],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}fold(0) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}fold(0) > [],[] + 0 -- par-right.operator.fold -> {[2]*}fold(0) | {[]*}fold(2) > [],[] + 0" ∷
  "{[]*}fold(2) | {[2]*}fold(0) > [],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}fold(0) > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[2]*}fold(0) > [],[] + 0 -- par-right.operator.fold -> {[]*}fold(2) | {[]*}fold(2) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[]*}fold(2) > [],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]*}fold(2) > [],[] + 0" ∷
  "{[2]*}fold(0) | {[]*}fold(2) > [],[] + 0 -- par-right.operator.fold-terminator -> {[2]*}fold(0) | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[2]*}fold(0) > [2]*,[] + 0 -- par-right.operator.fold -> {[]!}fold(2) | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[]*}fold(2) > [],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]*}fold(2) > [2]*,[] + 0" ∷
  "{[]*}fold(2) | {[]*}fold(2) > [],[] + 0 -- par-right.operator.fold-terminator -> {[]*}fold(2) | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[2]*}fold(0) | {[]!}fold(2) > [],[2]* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}fold(2) > [],[2]* + 0" ∷
  "{[]!}fold(2) | {[]*}fold(2) > [2]*,[] + 0 -- par-right.operator.fold-terminator -> {[]!}fold(2) | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]*}fold(2) | {[]!}fold(2) > [],[2]* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}fold(2) > [2]*,[2]* + 0" ∷
  "{[]!}fold(2) | {[]!}fold(2) > [2]*,[2]* + 0 is stuck" ∷
  "# fold | tee" ∷
  "{[]}fold(0) | {[]}tee > [],[],[] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}tee > [],[],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}tee > [],[],[] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}tee > [],[],[] + 0" ∷
  "{[2]*}fold(0) | {[2]*}tee > [],[],[] + 0 -- par-right.operator.tee -> {[2]*}fold(0) | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[]*}fold(2) | {[2]*}tee > [],[],[] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}tee > [2]*,[],[] + 0" ∷
  "{[]*}fold(2) | {[2]*}tee > [],[],[] + 0 -- par-right.operator.tee -> {[]*}fold(2) | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[2]*}fold(0) | {[]!}tee > [],[2]*,[2]* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}tee > [],[2]*,[2]* + 0" ∷
  "{[]!}fold(2) | {[2]*}tee > [2]*,[],[] + 0 -- par-right.operator.tee -> {[]!}fold(2) | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]*}fold(2) | {[]!}tee > [],[2]*,[2]* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}tee > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}fold(2) | {[]!}tee > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# fold | drop" ∷
  "{[]}fold(0) | {[]}drop > [] + 1 -- arrive -> {[2]*}fold(0) | {[2]*}drop > [] + 0" ∷
  "{[2]*}fold(0) | {[2]*}drop > [] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[2]*}drop > [] + 0" ∷
  "{[2]*}fold(0) | {[2]*}drop > [] + 0 -- par-right.operator.drop -> {[2]*}fold(0) | {[]!}drop > [] + 0" ∷
  "{[]*}fold(2) | {[2]*}drop > [] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[2]*}drop > [2]* + 0" ∷
  "{[]*}fold(2) | {[2]*}drop > [] + 0 -- par-right.operator.drop -> {[]*}fold(2) | {[]!}drop > [] + 0" ∷
  "{[2]*}fold(0) | {[]!}drop > [] + 0 -- par-left.operator.fold -> {[]*}fold(2) | {[]!}drop > [] + 0" ∷
  "{[]!}fold(2) | {[2]*}drop > [2]* + 0 -- par-right.operator.drop -> {[]!}fold(2) | {[]!}drop > [2]* + 0" ∷
  "{[]*}fold(2) | {[]!}drop > [] + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {[]!}drop > [2]* + 0" ∷
  "{[]!}fold(2) | {[]!}drop > [2]* + 0 is stuck" ∷
  "# fold | map_set" ∷
  "{[]}fold(0) | {<>}map_set > [],<> + 1 -- arrive -> {[2]*}fold(0) | {<2>*}map_set > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}map_set > [],<> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<2>*}map_set > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}map_set > [],<> + 0 -- par-right.operator.map-set -> {[2]*}fold(0) | {<>*}map_set > [],<3> + 0" ∷
  "{[]*}fold(2) | {<2>*}map_set > [],<> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<2>*}map_set > [2]*,<> + 0" ∷
  "{[]*}fold(2) | {<2>*}map_set > [],<> + 0 -- par-right.operator.map-set -> {[]*}fold(2) | {<>*}map_set > [],<3> + 0" ∷
  "{[2]*}fold(0) | {<>*}map_set > [],<3> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>*}map_set > [],<3> + 0" ∷
  "{[2]*}fold(0) | {<>*}map_set > [],<3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}fold(0) | {<>!}map_set > [],<3>* + 0" ∷
  "{[]!}fold(2) | {<2>*}map_set > [2]*,<> + 0 -- par-right.operator.map-set -> {[]!}fold(2) | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}fold(2) | {<>*}map_set > [],<3> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>*}map_set > [2]*,<3> + 0" ∷
  "{[]*}fold(2) | {<>*}map_set > [],<3> + 0 -- par-right.operator.map-set-terminated -> {[]*}fold(2) | {<>!}map_set > [],<3>* + 0" ∷
  "{[2]*}fold(0) | {<>!}map_set > [],<3>* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>!}map_set > [],<3>* + 0" ∷
  "{[]!}fold(2) | {<>*}map_set > [2]*,<3> + 0 -- par-right.operator.map-set-terminated -> {[]!}fold(2) | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]*}fold(2) | {<>!}map_set > [],<3>* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>!}map_set > [2]*,<3>* + 0" ∷
  "{[]!}fold(2) | {<>!}map_set > [2]*,<3>* + 0 is stuck" ∷
  "# fold | filter_set" ∷
  "{[]}fold(0) | {<>}filter_set > [],<> + 1 -- arrive -> {[2]*}fold(0) | {<2>*}filter_set > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}filter_set > [],<> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<2>*}filter_set > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}filter_set > [],<> + 0 -- par-right.operator.filter-set -> {[2]*}fold(0) | {<>*}filter_set > [],<2> + 0" ∷
  "{[]*}fold(2) | {<2>*}filter_set > [],<> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<2>*}filter_set > [2]*,<> + 0" ∷
  "{[]*}fold(2) | {<2>*}filter_set > [],<> + 0 -- par-right.operator.filter-set -> {[]*}fold(2) | {<>*}filter_set > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*}filter_set > [],<2> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>*}filter_set > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*}filter_set > [],<2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}fold(0) | {<>!}filter_set > [],<2>* + 0" ∷
  "{[]!}fold(2) | {<2>*}filter_set > [2]*,<> + 0 -- par-right.operator.filter-set -> {[]!}fold(2) | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*}filter_set > [],<2> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>*}filter_set > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*}filter_set > [],<2> + 0 -- par-right.operator.filter-set-terminated -> {[]*}fold(2) | {<>!}filter_set > [],<2>* + 0" ∷
  "{[2]*}fold(0) | {<>!}filter_set > [],<2>* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>!}filter_set > [],<2>* + 0" ∷
  "{[]!}fold(2) | {<>*}filter_set > [2]*,<2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}fold(2) | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]*}fold(2) | {<>!}filter_set > [],<2>* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>!}filter_set > [2]*,<2>* + 0" ∷
  "{[]!}fold(2) | {<>!}filter_set > [2]*,<2>* + 0 is stuck" ∷
  "# fold | tee_set" ∷
  "{[]}fold(0) | {<>}tee_set > [],<>,<> + 1 -- arrive -> {[2]*}fold(0) | {<2>*}tee_set > [],<>,<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}tee_set > [],<>,<> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<2>*}tee_set > [],<>,<> + 0" ∷
  "{[2]*}fold(0) | {<2>*}tee_set > [],<>,<> + 0 -- par-right.operator.tee -> {[2]*}fold(0) | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[]*}fold(2) | {<2>*}tee_set > [],<>,<> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<2>*}tee_set > [2]*,<>,<> + 0" ∷
  "{[]*}fold(2) | {<2>*}tee_set > [],<>,<> + 0 -- par-right.operator.tee -> {[]*}fold(2) | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[2]*}fold(0) | {<>!}tee_set > [],<2>*,<2>* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>!}tee_set > [],<2>*,<2>* + 0" ∷
  "{[]!}fold(2) | {<2>*}tee_set > [2]*,<>,<> + 0 -- par-right.operator.tee -> {[]!}fold(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]*}fold(2) | {<>!}tee_set > [],<2>*,<2>* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0" ∷
  "{[]!}fold(2) | {<>!}tee_set > [2]*,<2>*,<2>* + 0 is stuck" ∷
  "# fold | union_sets" ∷
  "{[]}fold(0) | {<>,<>}union_sets > [],<> + 1 -- arrive -> {[2]*}fold(0) | {<2>*,<2>*}union_sets > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<2>*,<2>*}union_sets > [],<> + 0" ∷
  "{[2]*}fold(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-left -> {[2]*}fold(0) | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-right -> {[2]*}fold(0) | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]*}fold(2) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0" ∷
  "{[]*}fold(2) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-left -> {[]*}fold(2) | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[]*}fold(2) | {<2>*,<2>*}union_sets > [],<> + 0 -- par-right.operator.union-set-right -> {[]*}fold(2) | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>*,<2>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-right -> {[2]*}fold(0) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<2>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-left -> {[2]*}fold(0) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]!}fold(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-left -> {[]!}fold(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}fold(2) | {<2>*,<2>*}union_sets > [2]*,<> + 0 -- par-right.operator.union-set-right -> {[]!}fold(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*,<2>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-right -> {[]*}fold(2) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[]*}fold(2) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<2>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-left -> {[]*}fold(2) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>*,<>*}union_sets > [],<2> + 0" ∷
  "{[2]*}fold(0) | {<>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}fold(0) | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[]!}fold(2) | {<>*,<2>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-right -> {[]!}fold(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]!}fold(2) | {<2>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-left -> {[]!}fold(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*,<>*}union_sets > [],<2> + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>*,<>*}union_sets > [2]*,<2> + 0" ∷
  "{[]*}fold(2) | {<>*,<>*}union_sets > [],<2> + 0 -- par-right.operator.union-set-terminated -> {[]*}fold(2) | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[2]*}fold(0) | {<>!,<>!}union_sets > [],<2>* + 0 -- par-left.operator.fold -> {[]*}fold(2) | {<>!,<>!}union_sets > [],<2>* + 0" ∷
  "{[]!}fold(2) | {<>*,<>*}union_sets > [2]*,<2> + 0 -- par-right.operator.union-set-terminated -> {[]!}fold(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]*}fold(2) | {<>!,<>!}union_sets > [],<2>* + 0 -- par-left.operator.fold-terminator -> {[]!}fold(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0" ∷
  "{[]!}fold(2) | {<>!,<>!}union_sets > [2]*,<2>* + 0 is stuck" ∷
  "# tee | map" ∷
  "{[]}tee | {[]}map > [],[],[] + 1 -- arrive -> {[2]*}tee | {[2]*}map > [],[],[] + 0" ∷
  "{[2]*}tee | {[2]*}map > [],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}map > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[2]*}map > [],[],[] + 0 -- par-right.operator.map -> {[2]*}tee | {[]*}map > [],[],[3] + 0" ∷
  "{[]!}tee | {[2]*}map > [2]*,[2]*,[] + 0 -- par-right.operator.map -> {[]!}tee | {[]*}map > [2]*,[2]*,[3] + 0" ∷
  "{[2]*}tee | {[]*}map > [],[],[3] + 0 -- par-left.operator.tee -> {[]!}tee | {[]*}map > [2]*,[2]*,[3] + 0" ∷
  "{[2]*}tee | {[]*}map > [],[],[3] + 0 -- par-right.operator.map-terminator -> {[2]*}tee | {[]!}map > [],[],[3]* + 0" ∷
  "{[]!}tee | {[]*}map > [2]*,[2]*,[3] + 0 -- par-right.operator.map-terminator -> {[]!}tee | {[]!}map > [2]*,[2]*,[3]* + 0" ∷
  "{[2]*}tee | {[]!}map > [],[],[3]* + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}map > [2]*,[2]*,[3]* + 0" ∷
  "{[]!}tee | {[]!}map > [2]*,[2]*,[3]* + 0 is stuck" ∷
  "# tee | filter" ∷
  "{[]}tee | {[]}filter > [],[],[] + 1 -- arrive -> {[2]*}tee | {[2]*}filter > [],[],[] + 0" ∷
  "{[2]*}tee | {[2]*}filter > [],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}filter > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[2]*}filter > [],[],[] + 0 -- par-right.operator.filter -> {[2]*}tee | {[]*}filter > [],[],[2] + 0" ∷
  "{[]!}tee | {[2]*}filter > [2]*,[2]*,[] + 0 -- par-right.operator.filter -> {[]!}tee | {[]*}filter > [2]*,[2]*,[2] + 0" ∷
  "{[2]*}tee | {[]*}filter > [],[],[2] + 0 -- par-left.operator.tee -> {[]!}tee | {[]*}filter > [2]*,[2]*,[2] + 0" ∷
  "{[2]*}tee | {[]*}filter > [],[],[2] + 0 -- par-right.operator.filter-terminator -> {[2]*}tee | {[]!}filter > [],[],[2]* + 0" ∷
  "{[]!}tee | {[]*}filter > [2]*,[2]*,[2] + 0 -- par-right.operator.filter-terminator -> {[]!}tee | {[]!}filter > [2]*,[2]*,[2]* + 0" ∷
  "{[2]*}tee | {[]!}filter > [],[],[2]* + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}filter > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}tee | {[]!}filter > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# tee | scan" ∷
  "{[]}tee | {[]}scan(0) > [],[],[] + 1 -- arrive -> {[2]*}tee | {[2]*}scan(0) > [],[],[] + 0" ∷
  "{[2]*}tee | {[2]*}scan(0) > [],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}scan(0) > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[2]*}scan(0) > [],[],[] + 0 -- par-right.operator.scan -> {[2]*}tee | {[]*}scan(2) > [],[],[2] + 0" ∷
  "{[]!}tee | {[2]*}scan(0) > [2]*,[2]*,[] + 0 -- par-right.operator.scan -> {[]!}tee | {[]*}scan(2) > [2]*,[2]*,[2] + 0" ∷
  "{[2]*}tee | {[]*}scan(2) > [],[],[2] + 0 -- par-left.operator.tee -> {[]!}tee | {[]*}scan(2) > [2]*,[2]*,[2] + 0" ∷
  "{[2]*}tee | {[]*}scan(2) > [],[],[2] + 0 -- par-right.operator.scan-terminator -> {[2]*}tee | {[]!}scan(2) > [],[],[2]* + 0" ∷
  "{[]!}tee | {[]*}scan(2) > [2]*,[2]*,[2] + 0 -- par-right.operator.scan-terminator -> {[]!}tee | {[]!}scan(2) > [2]*,[2]*,[2]* + 0" ∷
  "{[2]*}tee | {[]!}scan(2) > [],[],[2]* + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}scan(2) > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}tee | {[]!}scan(2) > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# tee | fold" ∷
  "{[]}tee | {[]}fold(0) > [],[],[] + 1 -- arrive -> {[2]*}tee | {[2]*}fold(0) > [],[],[] + 0" ∷
  "{[2]*}tee | {[2]*}fold(0) > [],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}fold(0) > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[2]*}fold(0) > [],[],[] + 0 -- par-right.operator.fold -> {[2]*}tee | {[]*}fold(2) > [],[],[] + 0" ∷
  "{[]!}tee | {[2]*}fold(0) > [2]*,[2]*,[] + 0 -- par-right.operator.fold -> {[]!}tee | {[]*}fold(2) > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[]*}fold(2) > [],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[]*}fold(2) > [2]*,[2]*,[] + 0" ∷
  "{[2]*}tee | {[]*}fold(2) > [],[],[] + 0 -- par-right.operator.fold-terminator -> {[2]*}tee | {[]!}fold(2) > [],[],[2]* + 0" ∷
  "{[]!}tee | {[]*}fold(2) > [2]*,[2]*,[] + 0 -- par-right.operator.fold-terminator -> {[]!}tee | {[]!}fold(2) > [2]*,[2]*,[2]* + 0" ∷
  "{[2]*}tee | {[]!}fold(2) > [],[],[2]* + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}fold(2) > [2]*,[2]*,[2]* + 0" ∷
  "{[]!}tee | {[]!}fold(2) > [2]*,[2]*,[2]* + 0 is stuck" ∷
  "# tee | tee" ∷
  "{[]}tee | {[]}tee > [],[],[],[] + 1 -- arrive -> {[2]*}tee | {[2]*}tee > [],[],[],[] + 0" ∷
  "{[2]*}tee | {[2]*}tee > [],[],[],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}tee > [2]*,[2]*,[],[] + 0" ∷
  "{[2]*}tee | {[2]*}tee > [],[],[],[] + 0 -- par-right.operator.tee -> {[2]*}tee | {[]!}tee > [],[],[2]*,[2]* + 0" ∷
  "{[]!}tee | {[2]*}tee > [2]*,[2]*,[],[] + 0 -- par-right.operator.tee -> {[]!}tee | {[]!}tee > [2]*,[2]*,[2]*,[2]* + 0" ∷
  "{[2]*}tee | {[]!}tee > [],[],[2]*,[2]* + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}tee > [2]*,[2]*,[2]*,[2]* + 0" ∷
  "{[]!}tee | {[]!}tee > [2]*,[2]*,[2]*,[2]* + 0 is stuck" ∷
  "# tee | drop" ∷
  "{[]}tee | {[]}drop > [],[] + 1 -- arrive -> {[2]*}tee | {[2]*}drop > [],[] + 0" ∷
  "{[2]*}tee | {[2]*}drop > [],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[2]*}drop > [2]*,[2]* + 0" ∷
  "{[2]*}tee | {[2]*}drop > [],[] + 0 -- par-right.operator.drop -> {[2]*}tee | {[]!}drop > [],[] + 0" ∷
  "{[]!}tee | {[2]*}drop > [2]*,[2]* + 0 -- par-right.operator.drop -> {[]!}tee | {[]!}drop > [2]*,[2]* + 0" ∷
  "{[2]*}tee | {[]!}drop > [],[] + 0 -- par-left.operator.tee -> {[]!}tee | {[]!}drop > [2]*,[2]* + 0" ∷
  "{[]!}tee | {[]!}drop > [2]*,[2]* + 0 is stuck" ∷
  "# tee | map_set" ∷
  "{[]}tee | {<>}map_set > [],[],<> + 1 -- arrive -> {[2]*}tee | {<2>*}map_set > [],[],<> + 0" ∷
  "{[2]*}tee | {<2>*}map_set > [],[],<> + 0 -- par-left.operator.tee -> {[]!}tee | {<2>*}map_set > [2]*,[2]*,<> + 0" ∷
  "{[2]*}tee | {<2>*}map_set > [],[],<> + 0 -- par-right.operator.map-set -> {[2]*}tee | {<>*}map_set > [],[],<3> + 0" ∷
  "{[]!}tee | {<2>*}map_set > [2]*,[2]*,<> + 0 -- par-right.operator.map-set -> {[]!}tee | {<>*}map_set > [2]*,[2]*,<3> + 0" ∷
  "{[2]*}tee | {<>*}map_set > [],[],<3> + 0 -- par-left.operator.tee -> {[]!}tee | {<>*}map_set > [2]*,[2]*,<3> + 0" ∷
  "{[2]*}tee | {<>*}map_set > [],[],<3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}tee | {<>!}map_set > [],[],<3>* + 0" ∷
  "{[]!}tee | {<>*}map_set > [2]*,[2]*,<3> + 0 -- par-right.operator.map-set-terminated -> {[]!}tee | {<>!}map_set > [2]*,[2]*,<3>* + 0" ∷
  "{[2]*}tee | {<>!}map_set > [],[],<3>* + 0 -- par-left.operator.tee -> {[]!}tee | {<>!}map_set > [2]*,[2]*,<3>* + 0" ∷
  "{[]!}tee | {<>!}map_set > [2]*,[2]*,<3>* + 0 is stuck" ∷
  "# tee | filter_set" ∷
  "{[]}tee | {<>}filter_set > [],[],<> + 1 -- arrive -> {[2]*}tee | {<2>*}filter_set > [],[],<> + 0" ∷
  "{[2]*}tee | {<2>*}filter_set > [],[],<> + 0 -- par-left.operator.tee -> {[]!}tee | {<2>*}filter_set > [2]*,[2]*,<> + 0" ∷
  "{[2]*}tee | {<2>*}filter_set > [],[],<> + 0 -- par-right.operator.filter-set -> {[2]*}tee | {<>*}filter_set > [],[],<2> + 0" ∷
  "{[]!}tee | {<2>*}filter_set > [2]*,[2]*,<> + 0 -- par-right.operator.filter-set -> {[]!}tee | {<>*}filter_set > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*}filter_set > [],[],<2> + 0 -- par-left.operator.tee -> {[]!}tee | {<>*}filter_set > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*}filter_set > [],[],<2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}tee | {<>!}filter_set > [],[],<2>* + 0" ∷
  "{[]!}tee | {<>*}filter_set > [2]*,[2]*,<2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}tee | {<>!}filter_set > [2]*,[2]*,<2>* + 0" ∷
  "{[2]*}tee | {<>!}filter_set > [],[],<2>* + 0 -- par-left.operator.tee -> {[]!}tee | {<>!}filter_set > [2]*,[2]*,<2>* + 0" ∷
  "{[]!}tee | {<>!}filter_set > [2]*,[2]*,<2>* + 0 is stuck" ∷
  "# tee | tee_set" ∷
  "{[]}tee | {<>}tee_set > [],[],<>,<> + 1 -- arrive -> {[2]*}tee | {<2>*}tee_set > [],[],<>,<> + 0" ∷
  "{[2]*}tee | {<2>*}tee_set > [],[],<>,<> + 0 -- par-left.operator.tee -> {[]!}tee | {<2>*}tee_set > [2]*,[2]*,<>,<> + 0" ∷
  "{[2]*}tee | {<2>*}tee_set > [],[],<>,<> + 0 -- par-right.operator.tee -> {[2]*}tee | {<>!}tee_set > [],[],<2>*,<2>* + 0" ∷
  "{[]!}tee | {<2>*}tee_set > [2]*,[2]*,<>,<> + 0 -- par-right.operator.tee -> {[]!}tee | {<>!}tee_set > [2]*,[2]*,<2>*,<2>* + 0" ∷
  "{[2]*}tee | {<>!}tee_set > [],[],<2>*,<2>* + 0 -- par-left.operator.tee -> {[]!}tee | {<>!}tee_set > [2]*,[2]*,<2>*,<2>* + 0" ∷
  "{[]!}tee | {<>!}tee_set > [2]*,[2]*,<2>*,<2>* + 0 is stuck" ∷
  "# tee | union_sets" ∷
  "{[]}tee | {<>,<>}union_sets > [],[],<> + 1 -- arrive -> {[2]*}tee | {<2>*,<2>*}union_sets > [],[],<> + 0" ∷
  "{[2]*}tee | {<2>*,<2>*}union_sets > [],[],<> + 0 -- par-left.operator.tee -> {[]!}tee | {<2>*,<2>*}union_sets > [2]*,[2]*,<> + 0" ∷
  "{[2]*}tee | {<2>*,<2>*}union_sets > [],[],<> + 0 -- par-right.operator.union-set-left -> {[2]*}tee | {<>*,<2>*}union_sets > [],[],<2> + 0" ∷
  "{[2]*}tee | {<2>*,<2>*}union_sets > [],[],<> + 0 -- par-right.operator.union-set-right -> {[2]*}tee | {<2>*,<>*}union_sets > [],[],<2> + 0" ∷
  "{[]!}tee | {<2>*,<2>*}union_sets > [2]*,[2]*,<> + 0 -- par-right.operator.union-set-left -> {[]!}tee | {<>*,<2>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[]!}tee | {<2>*,<2>*}union_sets > [2]*,[2]*,<> + 0 -- par-right.operator.union-set-right -> {[]!}tee | {<2>*,<>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*,<2>*}union_sets > [],[],<2> + 0 -- par-left.operator.tee -> {[]!}tee | {<>*,<2>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*,<2>*}union_sets > [],[],<2> + 0 -- par-right.operator.union-set-right -> {[2]*}tee | {<>*,<>*}union_sets > [],[],<2> + 0" ∷
  "{[2]*}tee | {<2>*,<>*}union_sets > [],[],<2> + 0 -- par-left.operator.tee -> {[]!}tee | {<2>*,<>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<2>*,<>*}union_sets > [],[],<2> + 0 -- par-right.operator.union-set-left -> {[2]*}tee | {<>*,<>*}union_sets > [],[],<2> + 0" ∷
  "{[]!}tee | {<>*,<2>*}union_sets > [2]*,[2]*,<2> + 0 -- par-right.operator.union-set-right -> {[]!}tee | {<>*,<>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[]!}tee | {<2>*,<>*}union_sets > [2]*,[2]*,<2> + 0 -- par-right.operator.union-set-left -> {[]!}tee | {<>*,<>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*,<>*}union_sets > [],[],<2> + 0 -- par-left.operator.tee -> {[]!}tee | {<>*,<>*}union_sets > [2]*,[2]*,<2> + 0" ∷
  "{[2]*}tee | {<>*,<>*}union_sets > [],[],<2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}tee | {<>!,<>!}union_sets > [],[],<2>* + 0" ∷
  "{[]!}tee | {<>*,<>*}union_sets > [2]*,[2]*,<2> + 0 -- par-right.operator.union-set-terminated -> {[]!}tee | {<>!,<>!}union_sets > [2]*,[2]*,<2>* + 0" ∷
  "{[2]*}tee | {<>!,<>!}union_sets > [],[],<2>* + 0 -- par-left.operator.tee -> {[]!}tee | {<>!,<>!}union_sets > [2]*,[2]*,<2>* + 0" ∷
  "{[]!}tee | {<>!,<>!}union_sets > [2]*,[2]*,<2>* + 0 is stuck" ∷
  "# drop | map" ∷
  "{[]}drop | {[]}map > [] + 1 -- arrive -> {[2]*}drop | {[2]*}map > [] + 0" ∷
  "{[2]*}drop | {[2]*}map > [] + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}map > [] + 0" ∷
  "{[2]*}drop | {[2]*}map > [] + 0 -- par-right.operator.map -> {[2]*}drop | {[]*}map > [3] + 0" ∷
  "{[]!}drop | {[2]*}map > [] + 0 -- par-right.operator.map -> {[]!}drop | {[]*}map > [3] + 0" ∷
  "{[2]*}drop | {[]*}map > [3] + 0 -- par-left.operator.drop -> {[]!}drop | {[]*}map > [3] + 0" ∷
  "{[2]*}drop | {[]*}map > [3] + 0 -- par-right.operator.map-terminator -> {[2]*}drop | {[]!}map > [3]* + 0" ∷
  "{[]!}drop | {[]*}map > [3] + 0 -- par-right.operator.map-terminator -> {[]!}drop | {[]!}map > [3]* + 0" ∷
  "{[2]*}drop | {[]!}map > [3]* + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}map > [3]* + 0" ∷
  "{[]!}drop | {[]!}map > [3]* + 0 is stuck" ∷
  "# drop | filter" ∷
  "{[]}drop | {[]}filter > [] + 1 -- arrive -> {[2]*}drop | {[2]*}filter > [] + 0" ∷
  "{[2]*}drop | {[2]*}filter > [] + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}filter > [] + 0" ∷
  "{[2]*}drop | {[2]*}filter > [] + 0 -- par-right.operator.filter -> {[2]*}drop | {[]*}filter > [2] + 0" ∷
  "{[]!}drop | {[2]*}filter > [] + 0 -- par-right.operator.filter -> {[]!}drop | {[]*}filter > [2] + 0" ∷
  "{[2]*}drop | {[]*}filter > [2] + 0 -- par-left.operator.drop -> {[]!}drop | {[]*}filter > [2] + 0" ∷
  "{[2]*}drop | {[]*}filter > [2] + 0 -- par-right.operator.filter-terminator -> {[2]*}drop | {[]!}filter > [2]* + 0" ∷
  "{[]!}drop | {[]*}filter > [2] + 0 -- par-right.operator.filter-terminator -> {[]!}drop | {[]!}filter > [2]* + 0" ∷
  "{[2]*}drop | {[]!}filter > [2]* + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}filter > [2]* + 0" ∷
  "{[]!}drop | {[]!}filter > [2]* + 0 is stuck" ∷
  "# drop | scan" ∷
  "{[]}drop | {[]}scan(0) > [] + 1 -- arrive -> {[2]*}drop | {[2]*}scan(0) > [] + 0" ∷
  "{[2]*}drop | {[2]*}scan(0) > [] + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}scan(0) > [] + 0" ∷
  "{[2]*}drop | {[2]*}scan(0) > [] + 0 -- par-right.operator.scan -> {[2]*}drop | {[]*}scan(2) > [2] + 0" ∷
  "{[]!}drop | {[2]*}scan(0) > [] + 0 -- par-right.operator.scan -> {[]!}drop | {[]*}scan(2) > [2] + 0" ∷
  "{[2]*}drop | {[]*}scan(2) > [2] + 0 -- par-left.operator.drop -> {[]!}drop | {[]*}scan(2) > [2] + 0" ∷
  "{[2]*}drop | {[]*}scan(2) > [2] + 0 -- par-right.operator.scan-terminator -> {[2]*}drop | {[]!}scan(2) > [2]* + 0" ∷
  "{[]!}drop | {[]*}scan(2) > [2] + 0 -- par-right.operator.scan-terminator -> {[]!}drop | {[]!}scan(2) > [2]* + 0" ∷
  "{[2]*}drop | {[]!}scan(2) > [2]* + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}scan(2) > [2]* + 0" ∷
  "{[]!}drop | {[]!}scan(2) > [2]* + 0 is stuck" ∷
  "# drop | fold" ∷
  "{[]}drop | {[]}fold(0) > [] + 1 -- arrive -> {[2]*}drop | {[2]*}fold(0) > [] + 0" ∷
  "{[2]*}drop | {[2]*}fold(0) > [] + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}fold(0) > [] + 0" ∷
  "{[2]*}drop | {[2]*}fold(0) > [] + 0 -- par-right.operator.fold -> {[2]*}drop | {[]*}fold(2) > [] + 0" ∷
  "{[]!}drop | {[2]*}fold(0) > [] + 0 -- par-right.operator.fold -> {[]!}drop | {[]*}fold(2) > [] + 0" ∷
  "{[2]*}drop | {[]*}fold(2) > [] + 0 -- par-left.operator.drop -> {[]!}drop | {[]*}fold(2) > [] + 0" ∷
  "{[2]*}drop | {[]*}fold(2) > [] + 0 -- par-right.operator.fold-terminator -> {[2]*}drop | {[]!}fold(2) > [2]* + 0" ∷
  "{[]!}drop | {[]*}fold(2) > [] + 0 -- par-right.operator.fold-terminator -> {[]!}drop | {[]!}fold(2) > [2]* + 0" ∷
  "{[2]*}drop | {[]!}fold(2) > [2]* + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}fold(2) > [2]* + 0" ∷
  "{[]!}drop | {[]!}fold(2) > [2]* + 0 is stuck" ∷
  "# drop | tee" ∷
  "{[]}drop | {[]}tee > [],[] + 1 -- arrive -> {[2]*}drop | {[2]*}tee > [],[] + 0" ∷
  "{[2]*}drop | {[2]*}tee > [],[] + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}tee > [],[] + 0" ∷
  "{[2]*}drop | {[2]*}tee > [],[] + 0 -- par-right.operator.tee -> {[2]*}drop | {[]!}tee > [2]*,[2]* + 0" ∷
  "{[]!}drop | {[2]*}tee > [],[] + 0 -- par-right.operator.tee -> {[]!}drop | {[]!}tee > [2]*,[2]* + 0" ∷
  "{[2]*}drop | {[]!}tee > [2]*,[2]* + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}tee > [2]*,[2]* + 0" ∷
  "{[]!}drop | {[]!}tee > [2]*,[2]* + 0 is stuck" ∷
  "# drop | drop" ∷
  "{[]}drop | {[]}drop >  + 1 -- arrive -> {[2]*}drop | {[2]*}drop >  + 0" ∷
  "{[2]*}drop | {[2]*}drop >  + 0 -- par-left.operator.drop -> {[]!}drop | {[2]*}drop >  + 0" ∷
  "{[2]*}drop | {[2]*}drop >  + 0 -- par-right.operator.drop -> {[2]*}drop | {[]!}drop >  + 0" ∷
  "{[]!}drop | {[2]*}drop >  + 0 -- par-right.operator.drop -> {[]!}drop | {[]!}drop >  + 0" ∷
  "{[2]*}drop | {[]!}drop >  + 0 -- par-left.operator.drop -> {[]!}drop | {[]!}drop >  + 0" ∷
  "{[]!}drop | {[]!}drop >  + 0 is stuck" ∷
  "# drop | map_set" ∷
  "{[]}drop | {<>}map_set > <> + 1 -- arrive -> {[2]*}drop | {<2>*}map_set > <> + 0" ∷
  "{[2]*}drop | {<2>*}map_set > <> + 0 -- par-left.operator.drop -> {[]!}drop | {<2>*}map_set > <> + 0" ∷
  "{[2]*}drop | {<2>*}map_set > <> + 0 -- par-right.operator.map-set -> {[2]*}drop | {<>*}map_set > <3> + 0" ∷
  "{[]!}drop | {<2>*}map_set > <> + 0 -- par-right.operator.map-set -> {[]!}drop | {<>*}map_set > <3> + 0" ∷
  "{[2]*}drop | {<>*}map_set > <3> + 0 -- par-left.operator.drop -> {[]!}drop | {<>*}map_set > <3> + 0" ∷
  "{[2]*}drop | {<>*}map_set > <3> + 0 -- par-right.operator.map-set-terminated -> {[2]*}drop | {<>!}map_set > <3>* + 0" ∷
  "{[]!}drop | {<>*}map_set > <3> + 0 -- par-right.operator.map-set-terminated -> {[]!}drop | {<>!}map_set > <3>* + 0" ∷
  "{[2]*}drop | {<>!}map_set > <3>* + 0 -- par-left.operator.drop -> {[]!}drop | {<>!}map_set > <3>* + 0" ∷
  "{[]!}drop | {<>!}map_set > <3>* + 0 is stuck" ∷
  "# drop | filter_set" ∷
  "{[]}drop | {<>}filter_set > <> + 1 -- arrive -> {[2]*}drop | {<2>*}filter_set > <> + 0" ∷
  "{[2]*}drop | {<2>*}filter_set > <> + 0 -- par-left.operator.drop -> {[]!}drop | {<2>*}filter_set > <> + 0" ∷
  "{[2]*}drop | {<2>*}filter_set > <> + 0 -- par-right.operator.filter-set -> {[2]*}drop | {<>*}filter_set > <2> + 0" ∷
  "{[]!}drop | {<2>*}filter_set > <> + 0 -- par-right.operator.filter-set -> {[]!}drop | {<>*}filter_set > <2> + 0" ∷
  "{[2]*}drop | {<>*}filter_set > <2> + 0 -- par-left.operator.drop -> {[]!}drop | {<>*}filter_set > <2> + 0" ∷
  "{[2]*}drop | {<>*}filter_set > <2> + 0 -- par-right.operator.filter-set-terminated -> {[2]*}drop | {<>!}filter_set > <2>* + 0" ∷
  "{[]!}drop | {<>*}filter_set > <2> + 0 -- par-right.operator.filter-set-terminated -> {[]!}drop | {<>!}filter_set > <2>* + 0" ∷
  "{[2]*}drop | {<>!}filter_set > <2>* + 0 -- par-left.operator.drop -> {[]!}drop | {<>!}filter_set > <2>* + 0" ∷
  "{[]!}drop | {<>!}filter_set > <2>* + 0 is stuck" ∷
  "# drop | tee_set" ∷
  "{[]}drop | {<>}tee_set > <>,<> + 1 -- arrive -> {[2]*}drop | {<2>*}tee_set > <>,<> + 0" ∷
  "{[2]*}drop | {<2>*}tee_set > <>,<> + 0 -- par-left.operator.drop -> {[]!}drop | {<2>*}tee_set > <>,<> + 0" ∷
  "{[2]*}drop | {<2>*}tee_set > <>,<> + 0 -- par-right.operator.tee -> {[2]*}drop | {<>!}tee_set > <2>*,<2>* + 0" ∷
  "{[]!}drop | {<2>*}tee_set > <>,<> + 0 -- par-right.operator.tee -> {[]!}drop | {<>!}tee_set > <2>*,<2>* + 0" ∷
  "{[2]*}drop | {<>!}tee_set > <2>*,<2>* + 0 -- par-left.operator.drop -> {[]!}drop | {<>!}tee_set > <2>*,<2>* + 0" ∷
  "{[]!}drop | {<>!}tee_set > <2>*,<2>* + 0 is stuck" ∷
  "# drop | union_sets" ∷
  "{[]}drop | {<>,<>}union_sets > <> + 1 -- arrive -> {[2]*}drop | {<2>*,<2>*}union_sets > <> + 0" ∷
  "{[2]*}drop | {<2>*,<2>*}union_sets > <> + 0 -- par-left.operator.drop -> {[]!}drop | {<2>*,<2>*}union_sets > <> + 0" ∷
  "{[2]*}drop | {<2>*,<2>*}union_sets > <> + 0 -- par-right.operator.union-set-left -> {[2]*}drop | {<>*,<2>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<2>*,<2>*}union_sets > <> + 0 -- par-right.operator.union-set-right -> {[2]*}drop | {<2>*,<>*}union_sets > <2> + 0" ∷
  "{[]!}drop | {<2>*,<2>*}union_sets > <> + 0 -- par-right.operator.union-set-left -> {[]!}drop | {<>*,<2>*}union_sets > <2> + 0" ∷
  "{[]!}drop | {<2>*,<2>*}union_sets > <> + 0 -- par-right.operator.union-set-right -> {[]!}drop | {<2>*,<>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<>*,<2>*}union_sets > <2> + 0 -- par-left.operator.drop -> {[]!}drop | {<>*,<2>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<>*,<2>*}union_sets > <2> + 0 -- par-right.operator.union-set-right -> {[2]*}drop | {<>*,<>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<2>*,<>*}union_sets > <2> + 0 -- par-left.operator.drop -> {[]!}drop | {<2>*,<>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<2>*,<>*}union_sets > <2> + 0 -- par-right.operator.union-set-left -> {[2]*}drop | {<>*,<>*}union_sets > <2> + 0" ∷
  "{[]!}drop | {<>*,<2>*}union_sets > <2> + 0 -- par-right.operator.union-set-right -> {[]!}drop | {<>*,<>*}union_sets > <2> + 0" ∷
  "{[]!}drop | {<2>*,<>*}union_sets > <2> + 0 -- par-right.operator.union-set-left -> {[]!}drop | {<>*,<>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<>*,<>*}union_sets > <2> + 0 -- par-left.operator.drop -> {[]!}drop | {<>*,<>*}union_sets > <2> + 0" ∷
  "{[2]*}drop | {<>*,<>*}union_sets > <2> + 0 -- par-right.operator.union-set-terminated -> {[2]*}drop | {<>!,<>!}union_sets > <2>* + 0" ∷
  "{[]!}drop | {<>*,<>*}union_sets > <2> + 0 -- par-right.operator.union-set-terminated -> {[]!}drop | {<>!,<>!}union_sets > <2>* + 0" ∷
  "{[2]*}drop | {<>!,<>!}union_sets > <2>* + 0 -- par-left.operator.drop -> {[]!}drop | {<>!,<>!}union_sets > <2>* + 0" ∷
  "{[]!}drop | {<>!,<>!}union_sets > <2>* + 0 is stuck" ∷
  "# map_set | map" ∷
  "{<>}map_set | {[]}map > <>,[] + 1 -- arrive -> {<2>*}map_set | {[2]*}map > <>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}map > <>,[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}map > <3>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}map > <>,[] + 0 -- par-right.operator.map -> {<2>*}map_set | {[]*}map > <>,[3] + 0" ∷
  "{<>*}map_set | {[2]*}map > <3>,[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}map > <3>*,[] + 0" ∷
  "{<>*}map_set | {[2]*}map > <3>,[] + 0 -- par-right.operator.map -> {<>*}map_set | {[]*}map > <3>,[3] + 0" ∷
  "{<2>*}map_set | {[]*}map > <>,[3] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]*}map > <3>,[3] + 0" ∷
  "{<2>*}map_set | {[]*}map > <>,[3] + 0 -- par-right.operator.map-terminator -> {<2>*}map_set | {[]!}map > <>,[3]* + 0" ∷
  "{<>!}map_set | {[2]*}map > <3>*,[] + 0 -- par-right.operator.map -> {<>!}map_set | {[]*}map > <3>*,[3] + 0" ∷
  "{<>*}map_set | {[]*}map > <3>,[3] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]*}map > <3>*,[3] + 0" ∷
  "{<>*}map_set | {[]*}map > <3>,[3] + 0 -- par-right.operator.map-terminator -> {<>*}map_set | {[]!}map > <3>,[3]* + 0" ∷
  "{<2>*}map_set | {[]!}map > <>,[3]* + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}map > <3>,[3]* + 0" ∷
  "{<>!}map_set | {[]*}map > <3>*,[3] + 0 -- par-right.operator.map-terminator -> {<>!}map_set | {[]!}map > <3>*,[3]* + 0" ∷
  "{<>*}map_set | {[]!}map > <3>,[3]* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}map > <3>*,[3]* + 0" ∷
  "{<>!}map_set | {[]!}map > <3>*,[3]* + 0 is stuck" ∷
  "# map_set | filter" ∷
  "{<>}map_set | {[]}filter > <>,[] + 1 -- arrive -> {<2>*}map_set | {[2]*}filter > <>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}filter > <>,[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}filter > <3>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}filter > <>,[] + 0 -- par-right.operator.filter -> {<2>*}map_set | {[]*}filter > <>,[2] + 0" ∷
  "{<>*}map_set | {[2]*}filter > <3>,[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}filter > <3>*,[] + 0" ∷
  "{<>*}map_set | {[2]*}filter > <3>,[] + 0 -- par-right.operator.filter -> {<>*}map_set | {[]*}filter > <3>,[2] + 0" ∷
  "{<2>*}map_set | {[]*}filter > <>,[2] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]*}filter > <3>,[2] + 0" ∷
  "{<2>*}map_set | {[]*}filter > <>,[2] + 0 -- par-right.operator.filter-terminator -> {<2>*}map_set | {[]!}filter > <>,[2]* + 0" ∷
  "{<>!}map_set | {[2]*}filter > <3>*,[] + 0 -- par-right.operator.filter -> {<>!}map_set | {[]*}filter > <3>*,[2] + 0" ∷
  "{<>*}map_set | {[]*}filter > <3>,[2] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]*}filter > <3>*,[2] + 0" ∷
  "{<>*}map_set | {[]*}filter > <3>,[2] + 0 -- par-right.operator.filter-terminator -> {<>*}map_set | {[]!}filter > <3>,[2]* + 0" ∷
  "{<2>*}map_set | {[]!}filter > <>,[2]* + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}filter > <3>,[2]* + 0" ∷
  "{<>!}map_set | {[]*}filter > <3>*,[2] + 0 -- par-right.operator.filter-terminator -> {<>!}map_set | {[]!}filter > <3>*,[2]* + 0" ∷
  "{<>*}map_set | {[]!}filter > <3>,[2]* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}filter > <3>*,[2]* + 0" ∷
  "{<>!}map_set | {[]!}filter > <3>*,[2]* + 0 is stuck" ∷
  "# map_set | scan" ∷
  "{<>}map_set | {[]}scan(0) > <>,[] + 1 -- arrive -> {<2>*}map_set | {[2]*}scan(0) > <>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}scan(0) > <>,[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}scan(0) > <3>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}scan(0) > <>,[] + 0 -- par-right.operator.scan -> {<2>*}map_set | {[]*}scan(2) > <>,[2] + 0" ∷
  "{<>*}map_set | {[2]*}scan(0) > <3>,[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}scan(0) > <3>*,[] + 0" ∷
  "{<>*}map_set | {[2]*}scan(0) > <3>,[] + 0 -- par-right.operator.scan -> {<>*}map_set | {[]*}scan(2) > <3>,[2] + 0" ∷
  "{<2>*}map_set | {[]*}scan(2) > <>,[2] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]*}scan(2) > <3>,[2] + 0" ∷
  "{<2>*}map_set | {[]*}scan(2) > <>,[2] + 0 -- par-right.operator.scan-terminator -> {<2>*}map_set | {[]!}scan(2) > <>,[2]* + 0" ∷
  "{<>!}map_set | {[2]*}scan(0) > <3>*,[] + 0 -- par-right.operator.scan -> {<>!}map_set | {[]*}scan(2) > <3>*,[2] + 0" ∷
  "{<>*}map_set | {[]*}scan(2) > <3>,[2] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]*}scan(2) > <3>*,[2] + 0" ∷
  "{<>*}map_set | {[]*}scan(2) > <3>,[2] + 0 -- par-right.operator.scan-terminator -> {<>*}map_set | {[]!}scan(2) > <3>,[2]* + 0" ∷
  "{<2>*}map_set | {[]!}scan(2) > <>,[2]* + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}scan(2) > <3>,[2]* + 0" ∷
  "{<>!}map_set | {[]*}scan(2) > <3>*,[2] + 0 -- par-right.operator.scan-terminator -> {<>!}map_set | {[]!}scan(2) > <3>*,[2]* + 0" ∷
  "{<>*}map_set | {[]!}scan(2) > <3>,[2]* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}scan(2) > <3>*,[2]* + 0" ∷
  "{<>!}map_set | {[]!}scan(2) > <3>*,[2]* + 0 is stuck" ∷
  "# map_set | fold" ∷
  "{<>}map_set | {[]}fold(0) > <>,[] + 1 -- arrive -> {<2>*}map_set | {[2]*}fold(0) > <>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}fold(0) > <>,[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}fold(0) > <3>,[] + 0" ∷
  "{<2>*}map_set | {[2]*}fold(0) > <>,[] + 0 -- par-right.operator.fold -> {<2>*}map_set | {[]*}fold(2) > <>,[] + 0" ∷
  "{<>*}map_set | {[2]*}fold(0) > <3>,[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}fold(0) > <3>*,[] + 0" ∷
  "{<>*}map_set | {[2]*}fold(0) > <3>,[] + 0 -- par-right.operator.fold -> {<>*}map_set | {[]*}fold(2) > <3>,[] + 0" ∷
  "{<2>*}map_set | {[]*}fold(2) > <>,[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]*}fold(2) > <3>,[] + 0" ∷
  "{<2>*}map_set | {[]*}fold(2) > <>,[] + 0 -- par-right.operator.fold-terminator -> {<2>*}map_set | {[]!}fold(2) > <>,[2]* + 0" ∷
  "{<>!}map_set | {[2]*}fold(0) > <3>*,[] + 0 -- par-right.operator.fold -> {<>!}map_set | {[]*}fold(2) > <3>*,[] + 0" ∷
  "{<>*}map_set | {[]*}fold(2) > <3>,[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]*}fold(2) > <3>*,[] + 0" ∷
  "{<>*}map_set | {[]*}fold(2) > <3>,[] + 0 -- par-right.operator.fold-terminator -> {<>*}map_set | {[]!}fold(2) > <3>,[2]* + 0" ∷
  "{<2>*}map_set | {[]!}fold(2) > <>,[2]* + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}fold(2) > <3>,[2]* + 0" ∷
  "{<>!}map_set | {[]*}fold(2) > <3>*,[] + 0 -- par-right.operator.fold-terminator -> {<>!}map_set | {[]!}fold(2) > <3>*,[2]* + 0" ∷
  "{<>*}map_set | {[]!}fold(2) > <3>,[2]* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}fold(2) > <3>*,[2]* + 0" ∷
  "{<>!}map_set | {[]!}fold(2) > <3>*,[2]* + 0 is stuck" ∷
  "# map_set | tee" ∷
  "{<>}map_set | {[]}tee > <>,[],[] + 1 -- arrive -> {<2>*}map_set | {[2]*}tee > <>,[],[] + 0" ∷
  "{<2>*}map_set | {[2]*}tee > <>,[],[] + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}tee > <3>,[],[] + 0" ∷
  "{<2>*}map_set | {[2]*}tee > <>,[],[] + 0 -- par-right.operator.tee -> {<2>*}map_set | {[]!}tee > <>,[2]*,[2]* + 0" ∷
  "{<>*}map_set | {[2]*}tee > <3>,[],[] + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}tee > <3>*,[],[] + 0" ∷
  "{<>*}map_set | {[2]*}tee > <3>,[],[] + 0 -- par-right.operator.tee -> {<>*}map_set | {[]!}tee > <3>,[2]*,[2]* + 0" ∷
  "{<2>*}map_set | {[]!}tee > <>,[2]*,[2]* + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}tee > <3>,[2]*,[2]* + 0" ∷
  "{<>!}map_set | {[2]*}tee > <3>*,[],[] + 0 -- par-right.operator.tee -> {<>!}map_set | {[]!}tee > <3>*,[2]*,[2]* + 0" ∷
  "{<>*}map_set | {[]!}tee > <3>,[2]*,[2]* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}tee > <3>*,[2]*,[2]* + 0" ∷
  "{<>!}map_set | {[]!}tee > <3>*,[2]*,[2]* + 0 is stuck" ∷
  "# map_set | drop" ∷
  "{<>}map_set | {[]}drop > <> + 1 -- arrive -> {<2>*}map_set | {[2]*}drop > <> + 0" ∷
  "{<2>*}map_set | {[2]*}drop > <> + 0 -- par-left.operator.map-set -> {<>*}map_set | {[2]*}drop > <3> + 0" ∷
  "{<2>*}map_set | {[2]*}drop > <> + 0 -- par-right.operator.drop -> {<2>*}map_set | {[]!}drop > <> + 0" ∷
  "{<>*}map_set | {[2]*}drop > <3> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[2]*}drop > <3>* + 0" ∷
  "{<>*}map_set | {[2]*}drop > <3> + 0 -- par-right.operator.drop -> {<>*}map_set | {[]!}drop > <3> + 0" ∷
  "{<2>*}map_set | {[]!}drop > <> + 0 -- par-left.operator.map-set -> {<>*}map_set | {[]!}drop > <3> + 0" ∷
  "{<>!}map_set | {[2]*}drop > <3>* + 0 -- par-right.operator.drop -> {<>!}map_set | {[]!}drop > <3>* + 0" ∷
  "{<>*}map_set | {[]!}drop > <3> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {[]!}drop > <3>* + 0" ∷
  "{<>!}map_set | {[]!}drop > <3>* + 0 is stuck" ∷
  "# map_set | map_set" ∷
  "{<>}map_set | {<>}map_set > <>,<> + 1 -- arrive -> {<2>*}map_set | {<2>*}map_set > <>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}map_set > <>,<> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<2>*}map_set > <3>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}map_set > <>,<> + 0 -- par-right.operator.map-set -> {<2>*}map_set | {<>*}map_set > <>,<3> + 0" ∷
  "{<>*}map_set | {<2>*}map_set > <3>,<> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<2>*}map_set > <3>*,<> + 0" ∷
  "{<>*}map_set | {<2>*}map_set > <3>,<> + 0 -- par-right.operator.map-set -> {<>*}map_set | {<>*}map_set > <3>,<3> + 0" ∷
  "{<2>*}map_set | {<>*}map_set > <>,<3> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>*}map_set > <3>,<3> + 0" ∷
  "{<2>*}map_set | {<>*}map_set > <>,<3> + 0 -- par-right.operator.map-set-terminated -> {<2>*}map_set | {<>!}map_set > <>,<3>* + 0" ∷
  "{<>!}map_set | {<2>*}map_set > <3>*,<> + 0 -- par-right.operator.map-set -> {<>!}map_set | {<>*}map_set > <3>*,<3> + 0" ∷
  "{<>*}map_set | {<>*}map_set > <3>,<3> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>*}map_set > <3>*,<3> + 0" ∷
  "{<>*}map_set | {<>*}map_set > <3>,<3> + 0 -- par-right.operator.map-set-terminated -> {<>*}map_set | {<>!}map_set > <3>,<3>* + 0" ∷
  "{<2>*}map_set | {<>!}map_set > <>,<3>* + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>!}map_set > <3>,<3>* + 0" ∷
  "{<>!}map_set | {<>*}map_set > <3>*,<3> + 0 -- par-right.operator.map-set-terminated -> {<>!}map_set | {<>!}map_set > <3>*,<3>* + 0" ∷
  "{<>*}map_set | {<>!}map_set > <3>,<3>* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>!}map_set > <3>*,<3>* + 0" ∷
  "{<>!}map_set | {<>!}map_set > <3>*,<3>* + 0 is stuck" ∷
  "# map_set | filter_set" ∷
  "{<>}map_set | {<>}filter_set > <>,<> + 1 -- arrive -> {<2>*}map_set | {<2>*}filter_set > <>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}filter_set > <>,<> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<2>*}filter_set > <3>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}filter_set > <>,<> + 0 -- par-right.operator.filter-set -> {<2>*}map_set | {<>*}filter_set > <>,<2> + 0" ∷
  "{<>*}map_set | {<2>*}filter_set > <3>,<> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<2>*}filter_set > <3>*,<> + 0" ∷
  "{<>*}map_set | {<2>*}filter_set > <3>,<> + 0 -- par-right.operator.filter-set -> {<>*}map_set | {<>*}filter_set > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*}filter_set > <>,<2> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>*}filter_set > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*}filter_set > <>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<2>*}map_set | {<>!}filter_set > <>,<2>* + 0" ∷
  "{<>!}map_set | {<2>*}filter_set > <3>*,<> + 0 -- par-right.operator.filter-set -> {<>!}map_set | {<>*}filter_set > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*}filter_set > <3>,<2> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>*}filter_set > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*}filter_set > <3>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>*}map_set | {<>!}filter_set > <3>,<2>* + 0" ∷
  "{<2>*}map_set | {<>!}filter_set > <>,<2>* + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>!}filter_set > <3>,<2>* + 0" ∷
  "{<>!}map_set | {<>*}filter_set > <3>*,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>!}map_set | {<>!}filter_set > <3>*,<2>* + 0" ∷
  "{<>*}map_set | {<>!}filter_set > <3>,<2>* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>!}filter_set > <3>*,<2>* + 0" ∷
  "{<>!}map_set | {<>!}filter_set > <3>*,<2>* + 0 is stuck" ∷
  "# map_set | tee_set" ∷
  "{<>}map_set | {<>}tee_set > <>,<>,<> + 1 -- arrive -> {<2>*}map_set | {<2>*}tee_set > <>,<>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}tee_set > <>,<>,<> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<2>*}tee_set > <3>,<>,<> + 0" ∷
  "{<2>*}map_set | {<2>*}tee_set > <>,<>,<> + 0 -- par-right.operator.tee -> {<2>*}map_set | {<>!}tee_set > <>,<2>*,<2>* + 0" ∷
  "{<>*}map_set | {<2>*}tee_set > <3>,<>,<> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<2>*}tee_set > <3>*,<>,<> + 0" ∷
  "{<>*}map_set | {<2>*}tee_set > <3>,<>,<> + 0 -- par-right.operator.tee -> {<>*}map_set | {<>!}tee_set > <3>,<2>*,<2>* + 0" ∷
  "{<2>*}map_set | {<>!}tee_set > <>,<2>*,<2>* + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>!}tee_set > <3>,<2>*,<2>* + 0" ∷
  "{<>!}map_set | {<2>*}tee_set > <3>*,<>,<> + 0 -- par-right.operator.tee -> {<>!}map_set | {<>!}tee_set > <3>*,<2>*,<2>* + 0" ∷
  "{<>*}map_set | {<>!}tee_set > <3>,<2>*,<2>* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>!}tee_set > <3>*,<2>*,<2>* + 0" ∷
  "{<>!}map_set | {<>!}tee_set > <3>*,<2>*,<2>* + 0 is stuck" ∷
  "# map_set | union_sets" ∷
  "{<>}map_set | {<>,<>}union_sets > <>,<> + 1 -- arrive -> {<2>*}map_set | {<2>*,<2>*}union_sets > <>,<> + 0" ∷
  "{<2>*}map_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<2>*,<2>*}union_sets > <3>,<> + 0" ∷
  "{<2>*}map_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-left -> {<2>*}map_set | {<>*,<2>*}union_sets > <>,<2> + 0" ∷
  "{<2>*}map_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-right -> {<2>*}map_set | {<2>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>*}map_set | {<2>*,<2>*}union_sets > <3>,<> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<2>*,<2>*}union_sets > <3>*,<> + 0" ∷
  "{<>*}map_set | {<2>*,<2>*}union_sets > <3>,<> + 0 -- par-right.operator.union-set-left -> {<>*}map_set | {<>*,<2>*}union_sets > <3>,<2> + 0" ∷
  "{<>*}map_set | {<2>*,<2>*}union_sets > <3>,<> + 0 -- par-right.operator.union-set-right -> {<>*}map_set | {<2>*,<>*}union_sets > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>*,<2>*}union_sets > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-right -> {<2>*}map_set | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<2>*}map_set | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<2>*,<>*}union_sets > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-left -> {<2>*}map_set | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>!}map_set | {<2>*,<2>*}union_sets > <3>*,<> + 0 -- par-right.operator.union-set-left -> {<>!}map_set | {<>*,<2>*}union_sets > <3>*,<2> + 0" ∷
  "{<>!}map_set | {<2>*,<2>*}union_sets > <3>*,<> + 0 -- par-right.operator.union-set-right -> {<>!}map_set | {<2>*,<>*}union_sets > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*,<2>*}union_sets > <3>,<2> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>*,<2>*}union_sets > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*,<2>*}union_sets > <3>,<2> + 0 -- par-right.operator.union-set-right -> {<>*}map_set | {<>*,<>*}union_sets > <3>,<2> + 0" ∷
  "{<>*}map_set | {<2>*,<>*}union_sets > <3>,<2> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<2>*,<>*}union_sets > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<2>*,<>*}union_sets > <3>,<2> + 0 -- par-right.operator.union-set-left -> {<>*}map_set | {<>*,<>*}union_sets > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>*,<>*}union_sets > <3>,<2> + 0" ∷
  "{<2>*}map_set | {<>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-terminated -> {<2>*}map_set | {<>!,<>!}union_sets > <>,<2>* + 0" ∷
  "{<>!}map_set | {<>*,<2>*}union_sets > <3>*,<2> + 0 -- par-right.operator.union-set-right -> {<>!}map_set | {<>*,<>*}union_sets > <3>*,<2> + 0" ∷
  "{<>!}map_set | {<2>*,<>*}union_sets > <3>*,<2> + 0 -- par-right.operator.union-set-left -> {<>!}map_set | {<>*,<>*}union_sets > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*,<>*}union_sets > <3>,<2> + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>*,<>*}union_sets > <3>*,<2> + 0" ∷
  "{<>*}map_set | {<>*,<>*}union_sets > <3>,<2> + 0 -- par-right.operator.union-set-terminated -> {<>*}map_set | {<>!,<>!}union_sets > <3>,<2>* + 0" ∷
  "{<2>*}map_set | {<>!,<>!}union_sets > <>,<2>* + 0 -- par-left.operator.map-set -> {<>*}map_set | {<>!,<>!}union_sets > <3>,<2>* + 0" ∷
  "{<>!}map_set | {<>*,<>*}union_sets > <3>*,<2> + 0 -- par-right.operator.union-set-terminated -> {<>!}map_set | {<>!,<>!}union_sets > <3>*,<2>* + 0" ∷
  "{<>*}map_set | {<>!,<>!}union_sets > <3>,<2>* + 0 -- par-left.operator.map-set-terminated -> {<>!}map_set | {<>!,<>!}union_sets > <3>*,<2>* + 0" ∷
  "{<>!}map_set | {<>!,<>!}union_sets > <3>*,<2>* + 0 is stuck" ∷
  "# filter_set | map" ∷
  "{<>}filter_set | {[]}map > <>,[] + 1 -- arrive -> {<2>*}filter_set | {[2]*}map > <>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}map > <>,[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}map > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}map > <>,[] + 0 -- par-right.operator.map -> {<2>*}filter_set | {[]*}map > <>,[3] + 0" ∷
  "{<>*}filter_set | {[2]*}map > <2>,[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}map > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[2]*}map > <2>,[] + 0 -- par-right.operator.map -> {<>*}filter_set | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*}filter_set | {[]*}map > <>,[3] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*}filter_set | {[]*}map > <>,[3] + 0 -- par-right.operator.map-terminator -> {<2>*}filter_set | {[]!}map > <>,[3]* + 0" ∷
  "{<>!}filter_set | {[2]*}map > <2>*,[] + 0 -- par-right.operator.map -> {<>!}filter_set | {[]*}map > <2>*,[3] + 0" ∷
  "{<>*}filter_set | {[]*}map > <2>,[3] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]*}map > <2>*,[3] + 0" ∷
  "{<>*}filter_set | {[]*}map > <2>,[3] + 0 -- par-right.operator.map-terminator -> {<>*}filter_set | {[]!}map > <2>,[3]* + 0" ∷
  "{<2>*}filter_set | {[]!}map > <>,[3]* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}map > <2>,[3]* + 0" ∷
  "{<>!}filter_set | {[]*}map > <2>*,[3] + 0 -- par-right.operator.map-terminator -> {<>!}filter_set | {[]!}map > <2>*,[3]* + 0" ∷
  "{<>*}filter_set | {[]!}map > <2>,[3]* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}map > <2>*,[3]* + 0" ∷
  "{<>!}filter_set | {[]!}map > <2>*,[3]* + 0 is stuck" ∷
  "# filter_set | filter" ∷
  "{<>}filter_set | {[]}filter > <>,[] + 1 -- arrive -> {<2>*}filter_set | {[2]*}filter > <>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}filter > <>,[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}filter > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}filter > <>,[] + 0 -- par-right.operator.filter -> {<2>*}filter_set | {[]*}filter > <>,[2] + 0" ∷
  "{<>*}filter_set | {[2]*}filter > <2>,[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}filter > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[2]*}filter > <2>,[] + 0 -- par-right.operator.filter -> {<>*}filter_set | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*}filter_set | {[]*}filter > <>,[2] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*}filter_set | {[]*}filter > <>,[2] + 0 -- par-right.operator.filter-terminator -> {<2>*}filter_set | {[]!}filter > <>,[2]* + 0" ∷
  "{<>!}filter_set | {[2]*}filter > <2>*,[] + 0 -- par-right.operator.filter -> {<>!}filter_set | {[]*}filter > <2>*,[2] + 0" ∷
  "{<>*}filter_set | {[]*}filter > <2>,[2] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]*}filter > <2>*,[2] + 0" ∷
  "{<>*}filter_set | {[]*}filter > <2>,[2] + 0 -- par-right.operator.filter-terminator -> {<>*}filter_set | {[]!}filter > <2>,[2]* + 0" ∷
  "{<2>*}filter_set | {[]!}filter > <>,[2]* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}filter > <2>,[2]* + 0" ∷
  "{<>!}filter_set | {[]*}filter > <2>*,[2] + 0 -- par-right.operator.filter-terminator -> {<>!}filter_set | {[]!}filter > <2>*,[2]* + 0" ∷
  "{<>*}filter_set | {[]!}filter > <2>,[2]* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}filter > <2>*,[2]* + 0" ∷
  "{<>!}filter_set | {[]!}filter > <2>*,[2]* + 0 is stuck" ∷
  "# filter_set | scan" ∷
  "{<>}filter_set | {[]}scan(0) > <>,[] + 1 -- arrive -> {<2>*}filter_set | {[2]*}scan(0) > <>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}scan(0) > <>,[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}scan(0) > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}scan(0) > <>,[] + 0 -- par-right.operator.scan -> {<2>*}filter_set | {[]*}scan(2) > <>,[2] + 0" ∷
  "{<>*}filter_set | {[2]*}scan(0) > <2>,[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}scan(0) > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[2]*}scan(0) > <2>,[] + 0 -- par-right.operator.scan -> {<>*}filter_set | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*}filter_set | {[]*}scan(2) > <>,[2] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*}filter_set | {[]*}scan(2) > <>,[2] + 0 -- par-right.operator.scan-terminator -> {<2>*}filter_set | {[]!}scan(2) > <>,[2]* + 0" ∷
  "{<>!}filter_set | {[2]*}scan(0) > <2>*,[] + 0 -- par-right.operator.scan -> {<>!}filter_set | {[]*}scan(2) > <2>*,[2] + 0" ∷
  "{<>*}filter_set | {[]*}scan(2) > <2>,[2] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]*}scan(2) > <2>*,[2] + 0" ∷
  "{<>*}filter_set | {[]*}scan(2) > <2>,[2] + 0 -- par-right.operator.scan-terminator -> {<>*}filter_set | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<2>*}filter_set | {[]!}scan(2) > <>,[2]* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<>!}filter_set | {[]*}scan(2) > <2>*,[2] + 0 -- par-right.operator.scan-terminator -> {<>!}filter_set | {[]!}scan(2) > <2>*,[2]* + 0" ∷
  "{<>*}filter_set | {[]!}scan(2) > <2>,[2]* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}scan(2) > <2>*,[2]* + 0" ∷
  "{<>!}filter_set | {[]!}scan(2) > <2>*,[2]* + 0 is stuck" ∷
  "# filter_set | fold" ∷
  "{<>}filter_set | {[]}fold(0) > <>,[] + 1 -- arrive -> {<2>*}filter_set | {[2]*}fold(0) > <>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}fold(0) > <>,[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}fold(0) > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[2]*}fold(0) > <>,[] + 0 -- par-right.operator.fold -> {<2>*}filter_set | {[]*}fold(2) > <>,[] + 0" ∷
  "{<>*}filter_set | {[2]*}fold(0) > <2>,[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}fold(0) > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[2]*}fold(0) > <2>,[] + 0 -- par-right.operator.fold -> {<>*}filter_set | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[]*}fold(2) > <>,[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*}filter_set | {[]*}fold(2) > <>,[] + 0 -- par-right.operator.fold-terminator -> {<2>*}filter_set | {[]!}fold(2) > <>,[2]* + 0" ∷
  "{<>!}filter_set | {[2]*}fold(0) > <2>*,[] + 0 -- par-right.operator.fold -> {<>!}filter_set | {[]*}fold(2) > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[]*}fold(2) > <2>,[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]*}fold(2) > <2>*,[] + 0" ∷
  "{<>*}filter_set | {[]*}fold(2) > <2>,[] + 0 -- par-right.operator.fold-terminator -> {<>*}filter_set | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<2>*}filter_set | {[]!}fold(2) > <>,[2]* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<>!}filter_set | {[]*}fold(2) > <2>*,[] + 0 -- par-right.operator.fold-terminator -> {<>!}filter_set | {[]!}fold(2) > <2>*,[2]* + 0" ∷
  "{<>*}filter_set | {[]!}fold(2) > <2>,[2]* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}fold(2) > <2>*,[2]* + 0" ∷
  "{<>!}filter_set | {[]!}fold(2) > <2>*,[2]* + 0 is stuck" ∷
  "# filter_set | tee" ∷
  "{<>}filter_set | {[]}tee > <>,[],[] + 1 -- arrive -> {<2>*}filter_set | {[2]*}tee > <>,[],[] + 0" ∷
  "{<2>*}filter_set | {[2]*}tee > <>,[],[] + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}tee > <2>,[],[] + 0" ∷
  "{<2>*}filter_set | {[2]*}tee > <>,[],[] + 0 -- par-right.operator.tee -> {<2>*}filter_set | {[]!}tee > <>,[2]*,[2]* + 0" ∷
  "{<>*}filter_set | {[2]*}tee > <2>,[],[] + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}tee > <2>*,[],[] + 0" ∷
  "{<>*}filter_set | {[2]*}tee > <2>,[],[] + 0 -- par-right.operator.tee -> {<>*}filter_set | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<2>*}filter_set | {[]!}tee > <>,[2]*,[2]* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<>!}filter_set | {[2]*}tee > <2>*,[],[] + 0 -- par-right.operator.tee -> {<>!}filter_set | {[]!}tee > <2>*,[2]*,[2]* + 0" ∷
  "{<>*}filter_set | {[]!}tee > <2>,[2]*,[2]* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}tee > <2>*,[2]*,[2]* + 0" ∷
  "{<>!}filter_set | {[]!}tee > <2>*,[2]*,[2]* + 0 is stuck" ∷
  "# filter_set | drop" ∷
  "{<>}filter_set | {[]}drop > <> + 1 -- arrive -> {<2>*}filter_set | {[2]*}drop > <> + 0" ∷
  "{<2>*}filter_set | {[2]*}drop > <> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[2]*}drop > <2> + 0" ∷
  "{<2>*}filter_set | {[2]*}drop > <> + 0 -- par-right.operator.drop -> {<2>*}filter_set | {[]!}drop > <> + 0" ∷
  "{<>*}filter_set | {[2]*}drop > <2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[2]*}drop > <2>* + 0" ∷
  "{<>*}filter_set | {[2]*}drop > <2> + 0 -- par-right.operator.drop -> {<>*}filter_set | {[]!}drop > <2> + 0" ∷
  "{<2>*}filter_set | {[]!}drop > <> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {[]!}drop > <2> + 0" ∷
  "{<>!}filter_set | {[2]*}drop > <2>* + 0 -- par-right.operator.drop -> {<>!}filter_set | {[]!}drop > <2>* + 0" ∷
  "{<>*}filter_set | {[]!}drop > <2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {[]!}drop > <2>* + 0" ∷
  "{<>!}filter_set | {[]!}drop > <2>* + 0 is stuck" ∷
  "# filter_set | map_set" ∷
  "{<>}filter_set | {<>}map_set > <>,<> + 1 -- arrive -> {<2>*}filter_set | {<2>*}map_set > <>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}map_set > <>,<> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<2>*}map_set > <2>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}map_set > <>,<> + 0 -- par-right.operator.map-set -> {<2>*}filter_set | {<>*}map_set > <>,<3> + 0" ∷
  "{<>*}filter_set | {<2>*}map_set > <2>,<> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<2>*}map_set > <2>*,<> + 0" ∷
  "{<>*}filter_set | {<2>*}map_set > <2>,<> + 0 -- par-right.operator.map-set -> {<>*}filter_set | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*}filter_set | {<>*}map_set > <>,<3> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*}filter_set | {<>*}map_set > <>,<3> + 0 -- par-right.operator.map-set-terminated -> {<2>*}filter_set | {<>!}map_set > <>,<3>* + 0" ∷
  "{<>!}filter_set | {<2>*}map_set > <2>*,<> + 0 -- par-right.operator.map-set -> {<>!}filter_set | {<>*}map_set > <2>*,<3> + 0" ∷
  "{<>*}filter_set | {<>*}map_set > <2>,<3> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>*}map_set > <2>*,<3> + 0" ∷
  "{<>*}filter_set | {<>*}map_set > <2>,<3> + 0 -- par-right.operator.map-set-terminated -> {<>*}filter_set | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<2>*}filter_set | {<>!}map_set > <>,<3>* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<>!}filter_set | {<>*}map_set > <2>*,<3> + 0 -- par-right.operator.map-set-terminated -> {<>!}filter_set | {<>!}map_set > <2>*,<3>* + 0" ∷
  "{<>*}filter_set | {<>!}map_set > <2>,<3>* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>!}map_set > <2>*,<3>* + 0" ∷
  "{<>!}filter_set | {<>!}map_set > <2>*,<3>* + 0 is stuck" ∷
  "# filter_set | filter_set" ∷
  "{<>}filter_set | {<>}filter_set > <>,<> + 1 -- arrive -> {<2>*}filter_set | {<2>*}filter_set > <>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}filter_set > <>,<> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<2>*}filter_set > <2>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}filter_set > <>,<> + 0 -- par-right.operator.filter-set -> {<2>*}filter_set | {<>*}filter_set > <>,<2> + 0" ∷
  "{<>*}filter_set | {<2>*}filter_set > <2>,<> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<2>*}filter_set > <2>*,<> + 0" ∷
  "{<>*}filter_set | {<2>*}filter_set > <2>,<> + 0 -- par-right.operator.filter-set -> {<>*}filter_set | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*}filter_set > <>,<2> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*}filter_set > <>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<2>*}filter_set | {<>!}filter_set > <>,<2>* + 0" ∷
  "{<>!}filter_set | {<2>*}filter_set > <2>*,<> + 0 -- par-right.operator.filter-set -> {<>!}filter_set | {<>*}filter_set > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*}filter_set > <2>,<2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>*}filter_set > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*}filter_set > <2>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>*}filter_set | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<2>*}filter_set | {<>!}filter_set > <>,<2>* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<>!}filter_set | {<>*}filter_set > <2>*,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>!}filter_set | {<>!}filter_set > <2>*,<2>* + 0" ∷
  "{<>*}filter_set | {<>!}filter_set > <2>,<2>* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>!}filter_set > <2>*,<2>* + 0" ∷
  "{<>!}filter_set | {<>!}filter_set > <2>*,<2>* + 0 is stuck" ∷
  "# filter_set | tee_set" ∷
  "{<>}filter_set | {<>}tee_set > <>,<>,<> + 1 -- arrive -> {<2>*}filter_set | {<2>*}tee_set > <>,<>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}tee_set > <>,<>,<> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<2>*}tee_set > <2>,<>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*}tee_set > <>,<>,<> + 0 -- par-right.operator.tee -> {<2>*}filter_set | {<>!}tee_set > <>,<2>*,<2>* + 0" ∷
  "{<>*}filter_set | {<2>*}tee_set > <2>,<>,<> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<2>*}tee_set > <2>*,<>,<> + 0" ∷
  "{<>*}filter_set | {<2>*}tee_set > <2>,<>,<> + 0 -- par-right.operator.tee -> {<>*}filter_set | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<2>*}filter_set | {<>!}tee_set > <>,<2>*,<2>* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<>!}filter_set | {<2>*}tee_set > <2>*,<>,<> + 0 -- par-right.operator.tee -> {<>!}filter_set | {<>!}tee_set > <2>*,<2>*,<2>* + 0" ∷
  "{<>*}filter_set | {<>!}tee_set > <2>,<2>*,<2>* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>!}tee_set > <2>*,<2>*,<2>* + 0" ∷
  "{<>!}filter_set | {<>!}tee_set > <2>*,<2>*,<2>* + 0 is stuck" ∷
  "# filter_set | union_sets" ∷
  "{<>}filter_set | {<>,<>}union_sets > <>,<> + 1 -- arrive -> {<2>*}filter_set | {<2>*,<2>*}union_sets > <>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<2>*,<2>*}union_sets > <2>,<> + 0" ∷
  "{<2>*}filter_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-left -> {<2>*}filter_set | {<>*,<2>*}union_sets > <>,<2> + 0" ∷
  "{<2>*}filter_set | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-right -> {<2>*}filter_set | {<2>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>*}filter_set | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<2>*,<2>*}union_sets > <2>*,<> + 0" ∷
  "{<>*}filter_set | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-left -> {<>*}filter_set | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<>*}filter_set | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-right -> {<>*}filter_set | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-right -> {<2>*}filter_set | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<2>*}filter_set | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-left -> {<2>*}filter_set | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>!}filter_set | {<2>*,<2>*}union_sets > <2>*,<> + 0 -- par-right.operator.union-set-left -> {<>!}filter_set | {<>*,<2>*}union_sets > <2>*,<2> + 0" ∷
  "{<>!}filter_set | {<2>*,<2>*}union_sets > <2>*,<> + 0 -- par-right.operator.union-set-right -> {<>!}filter_set | {<2>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>*,<2>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-right -> {<>*}filter_set | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*}filter_set | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<2>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-left -> {<>*}filter_set | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*}filter_set | {<>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-terminated -> {<2>*}filter_set | {<>!,<>!}union_sets > <>,<2>* + 0" ∷
  "{<>!}filter_set | {<>*,<2>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-right -> {<>!}filter_set | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>!}filter_set | {<2>*,<>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-left -> {<>!}filter_set | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*}filter_set | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-terminated -> {<>*}filter_set | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<2>*}filter_set | {<>!,<>!}union_sets > <>,<2>* + 0 -- par-left.operator.filter-set -> {<>*}filter_set | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<>!}filter_set | {<>*,<>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-terminated -> {<>!}filter_set | {<>!,<>!}union_sets > <2>*,<2>* + 0" ∷
  "{<>*}filter_set | {<>!,<>!}union_sets > <2>,<2>* + 0 -- par-left.operator.filter-set-terminated -> {<>!}filter_set | {<>!,<>!}union_sets > <2>*,<2>* + 0" ∷
  "{<>!}filter_set | {<>!,<>!}union_sets > <2>*,<2>* + 0 is stuck" ∷
  "# tee_set | map" ∷
  "{<>}tee_set | {[]}map > <>,<>,[] + 1 -- arrive -> {<2>*}tee_set | {[2]*}map > <>,<>,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}map > <>,<>,[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}map > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}map > <>,<>,[] + 0 -- par-right.operator.map -> {<2>*}tee_set | {[]*}map > <>,<>,[3] + 0" ∷
  "{<>!}tee_set | {[2]*}map > <2>*,<2>*,[] + 0 -- par-right.operator.map -> {<>!}tee_set | {[]*}map > <2>*,<2>*,[3] + 0" ∷
  "{<2>*}tee_set | {[]*}map > <>,<>,[3] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]*}map > <2>*,<2>*,[3] + 0" ∷
  "{<2>*}tee_set | {[]*}map > <>,<>,[3] + 0 -- par-right.operator.map-terminator -> {<2>*}tee_set | {[]!}map > <>,<>,[3]* + 0" ∷
  "{<>!}tee_set | {[]*}map > <2>*,<2>*,[3] + 0 -- par-right.operator.map-terminator -> {<>!}tee_set | {[]!}map > <2>*,<2>*,[3]* + 0" ∷
  "{<2>*}tee_set | {[]!}map > <>,<>,[3]* + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}map > <2>*,<2>*,[3]* + 0" ∷
  "{<>!}tee_set | {[]!}map > <2>*,<2>*,[3]* + 0 is stuck" ∷
  "# tee_set | filter" ∷
  "{<>}tee_set | {[]}filter > <>,<>,[] + 1 -- arrive -> {<2>*}tee_set | {[2]*}filter > <>,<>,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}filter > <>,<>,[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}filter > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}filter > <>,<>,[] + 0 -- par-right.operator.filter -> {<2>*}tee_set | {[]*}filter > <>,<>,[2] + 0" ∷
  "{<>!}tee_set | {[2]*}filter > <2>*,<2>*,[] + 0 -- par-right.operator.filter -> {<>!}tee_set | {[]*}filter > <2>*,<2>*,[2] + 0" ∷
  "{<2>*}tee_set | {[]*}filter > <>,<>,[2] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]*}filter > <2>*,<2>*,[2] + 0" ∷
  "{<2>*}tee_set | {[]*}filter > <>,<>,[2] + 0 -- par-right.operator.filter-terminator -> {<2>*}tee_set | {[]!}filter > <>,<>,[2]* + 0" ∷
  "{<>!}tee_set | {[]*}filter > <2>*,<2>*,[2] + 0 -- par-right.operator.filter-terminator -> {<>!}tee_set | {[]!}filter > <2>*,<2>*,[2]* + 0" ∷
  "{<2>*}tee_set | {[]!}filter > <>,<>,[2]* + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}filter > <2>*,<2>*,[2]* + 0" ∷
  "{<>!}tee_set | {[]!}filter > <2>*,<2>*,[2]* + 0 is stuck" ∷
  "# tee_set | scan" ∷
  "{<>}tee_set | {[]}scan(0) > <>,<>,[] + 1 -- arrive -> {<2>*}tee_set | {[2]*}scan(0) > <>,<>,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}scan(0) > <>,<>,[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}scan(0) > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}scan(0) > <>,<>,[] + 0 -- par-right.operator.scan -> {<2>*}tee_set | {[]*}scan(2) > <>,<>,[2] + 0" ∷
  "{<>!}tee_set | {[2]*}scan(0) > <2>*,<2>*,[] + 0 -- par-right.operator.scan -> {<>!}tee_set | {[]*}scan(2) > <2>*,<2>*,[2] + 0" ∷
  "{<2>*}tee_set | {[]*}scan(2) > <>,<>,[2] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]*}scan(2) > <2>*,<2>*,[2] + 0" ∷
  "{<2>*}tee_set | {[]*}scan(2) > <>,<>,[2] + 0 -- par-right.operator.scan-terminator -> {<2>*}tee_set | {[]!}scan(2) > <>,<>,[2]* + 0" ∷
  "{<>!}tee_set | {[]*}scan(2) > <2>*,<2>*,[2] + 0 -- par-right.operator.scan-terminator -> {<>!}tee_set | {[]!}scan(2) > <2>*,<2>*,[2]* + 0" ∷
  "{<2>*}tee_set | {[]!}scan(2) > <>,<>,[2]* + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}scan(2) > <2>*,<2>*,[2]* + 0" ∷
  "{<>!}tee_set | {[]!}scan(2) > <2>*,<2>*,[2]* + 0 is stuck" ∷
  "# tee_set | fold" ∷
  "{<>}tee_set | {[]}fold(0) > <>,<>,[] + 1 -- arrive -> {<2>*}tee_set | {[2]*}fold(0) > <>,<>,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}fold(0) > <>,<>,[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}fold(0) > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[2]*}fold(0) > <>,<>,[] + 0 -- par-right.operator.fold -> {<2>*}tee_set | {[]*}fold(2) > <>,<>,[] + 0" ∷
  "{<>!}tee_set | {[2]*}fold(0) > <2>*,<2>*,[] + 0 -- par-right.operator.fold -> {<>!}tee_set | {[]*}fold(2) > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[]*}fold(2) > <>,<>,[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]*}fold(2) > <2>*,<2>*,[] + 0" ∷
  "{<2>*}tee_set | {[]*}fold(2) > <>,<>,[] + 0 -- par-right.operator.fold-terminator -> {<2>*}tee_set | {[]!}fold(2) > <>,<>,[2]* + 0" ∷
  "{<>!}tee_set | {[]*}fold(2) > <2>*,<2>*,[] + 0 -- par-right.operator.fold-terminator -> {<>!}tee_set | {[]!}fold(2) > <2>*,<2>*,[2]* + 0" ∷
  "{<2>*}tee_set | {[]!}fold(2) > <>,<>,[2]* + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}fold(2) > <2>*,<2>*,[2]* + 0" ∷
  "{<>!}tee_set | {[]!}fold(2) > <2>*,<2>*,[2]* + 0 is stuck" ∷
  "# tee_set | tee" ∷
  "{<>}tee_set | {[]}tee > <>,<>,[],[] + 1 -- arrive -> {<2>*}tee_set | {[2]*}tee > <>,<>,[],[] + 0" ∷
  "{<2>*}tee_set | {[2]*}tee > <>,<>,[],[] + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}tee > <2>*,<2>*,[],[] + 0" ∷
  "{<2>*}tee_set | {[2]*}tee > <>,<>,[],[] + 0 -- par-right.operator.tee -> {<2>*}tee_set | {[]!}tee > <>,<>,[2]*,[2]* + 0" ∷
  "{<>!}tee_set | {[2]*}tee > <2>*,<2>*,[],[] + 0 -- par-right.operator.tee -> {<>!}tee_set | {[]!}tee > <2>*,<2>*,[2]*,[2]* + 0" ∷
  "{<2>*}tee_set | {[]!}tee > <>,<>,[2]*,[2]* + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}tee > <2>*,<2>*,[2]*,[2]* + 0" ∷
  "{<>!}tee_set | {[]!}tee > <2>*,<2>*,[2]*,[2]* + 0 is stuck" ∷
  "# tee_set | drop" ∷
  "{<>}tee_set | {[]}drop > <>,<> + 1 -- arrive -> {<2>*}tee_set | {[2]*}drop > <>,<> + 0" ∷
  "{<2>*}tee_set | {[2]*}drop > <>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {[2]*}drop > <2>*,<2>* + 0" ∷
  "{<2>*}tee_set | {[2]*}drop > <>,<> + 0 -- par-right.operator.drop -> {<2>*}tee_set | {[]!}drop > <>,<> + 0" ∷
  "{<>!}tee_set | {[2]*}drop > <2>*,<2>* + 0 -- par-right.operator.drop -> {<>!}tee_set | {[]!}drop > <2>*,<2>* + 0" ∷
  "{<2>*}tee_set | {[]!}drop > <>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {[]!}drop > <2>*,<2>* + 0" ∷
  "{<>!}tee_set | {[]!}drop > <2>*,<2>* + 0 is stuck" ∷
  "# tee_set | map_set" ∷
  "{<>}tee_set | {<>}map_set > <>,<>,<> + 1 -- arrive -> {<2>*}tee_set | {<2>*}map_set > <>,<>,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}map_set > <>,<>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<2>*}map_set > <2>*,<2>*,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}map_set > <>,<>,<> + 0 -- par-right.operator.map-set -> {<2>*}tee_set | {<>*}map_set > <>,<>,<3> + 0" ∷
  "{<>!}tee_set | {<2>*}map_set > <2>*,<2>*,<> + 0 -- par-right.operator.map-set -> {<>!}tee_set | {<>*}map_set > <2>*,<2>*,<3> + 0" ∷
  "{<2>*}tee_set | {<>*}map_set > <>,<>,<3> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>*}map_set > <2>*,<2>*,<3> + 0" ∷
  "{<2>*}tee_set | {<>*}map_set > <>,<>,<3> + 0 -- par-right.operator.map-set-terminated -> {<2>*}tee_set | {<>!}map_set > <>,<>,<3>* + 0" ∷
  "{<>!}tee_set | {<>*}map_set > <2>*,<2>*,<3> + 0 -- par-right.operator.map-set-terminated -> {<>!}tee_set | {<>!}map_set > <2>*,<2>*,<3>* + 0" ∷
  "{<2>*}tee_set | {<>!}map_set > <>,<>,<3>* + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>!}map_set > <2>*,<2>*,<3>* + 0" ∷
  "{<>!}tee_set | {<>!}map_set > <2>*,<2>*,<3>* + 0 is stuck" ∷
  "# tee_set | filter_set" ∷
  "{<>}tee_set | {<>}filter_set > <>,<>,<> + 1 -- arrive -> {<2>*}tee_set | {<2>*}filter_set > <>,<>,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}filter_set > <>,<>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<2>*}filter_set > <2>*,<2>*,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}filter_set > <>,<>,<> + 0 -- par-right.operator.filter-set -> {<2>*}tee_set | {<>*}filter_set > <>,<>,<2> + 0" ∷
  "{<>!}tee_set | {<2>*}filter_set > <2>*,<2>*,<> + 0 -- par-right.operator.filter-set -> {<>!}tee_set | {<>*}filter_set > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*}filter_set > <>,<>,<2> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>*}filter_set > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*}filter_set > <>,<>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<2>*}tee_set | {<>!}filter_set > <>,<>,<2>* + 0" ∷
  "{<>!}tee_set | {<>*}filter_set > <2>*,<2>*,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>!}tee_set | {<>!}filter_set > <2>*,<2>*,<2>* + 0" ∷
  "{<2>*}tee_set | {<>!}filter_set > <>,<>,<2>* + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>!}filter_set > <2>*,<2>*,<2>* + 0" ∷
  "{<>!}tee_set | {<>!}filter_set > <2>*,<2>*,<2>* + 0 is stuck" ∷
  "# tee_set | tee_set" ∷
  "{<>}tee_set | {<>}tee_set > <>,<>,<>,<> + 1 -- arrive -> {<2>*}tee_set | {<2>*}tee_set > <>,<>,<>,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}tee_set > <>,<>,<>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<2>*}tee_set > <2>*,<2>*,<>,<> + 0" ∷
  "{<2>*}tee_set | {<2>*}tee_set > <>,<>,<>,<> + 0 -- par-right.operator.tee -> {<2>*}tee_set | {<>!}tee_set > <>,<>,<2>*,<2>* + 0" ∷
  "{<>!}tee_set | {<2>*}tee_set > <2>*,<2>*,<>,<> + 0 -- par-right.operator.tee -> {<>!}tee_set | {<>!}tee_set > <2>*,<2>*,<2>*,<2>* + 0" ∷
  "{<2>*}tee_set | {<>!}tee_set > <>,<>,<2>*,<2>* + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>!}tee_set > <2>*,<2>*,<2>*,<2>* + 0" ∷
  "{<>!}tee_set | {<>!}tee_set > <2>*,<2>*,<2>*,<2>* + 0 is stuck" ∷
  "# tee_set | union_sets" ∷
  "{<>}tee_set | {<>,<>}union_sets > <>,<>,<> + 1 -- arrive -> {<2>*}tee_set | {<2>*,<2>*}union_sets > <>,<>,<> + 0" ∷
  "{<2>*}tee_set | {<2>*,<2>*}union_sets > <>,<>,<> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<2>*,<2>*}union_sets > <2>*,<2>*,<> + 0" ∷
  "{<2>*}tee_set | {<2>*,<2>*}union_sets > <>,<>,<> + 0 -- par-right.operator.union-set-left -> {<2>*}tee_set | {<>*,<2>*}union_sets > <>,<>,<2> + 0" ∷
  "{<2>*}tee_set | {<2>*,<2>*}union_sets > <>,<>,<> + 0 -- par-right.operator.union-set-right -> {<2>*}tee_set | {<2>*,<>*}union_sets > <>,<>,<2> + 0" ∷
  "{<>!}tee_set | {<2>*,<2>*}union_sets > <2>*,<2>*,<> + 0 -- par-right.operator.union-set-left -> {<>!}tee_set | {<>*,<2>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<>!}tee_set | {<2>*,<2>*}union_sets > <2>*,<2>*,<> + 0 -- par-right.operator.union-set-right -> {<>!}tee_set | {<2>*,<>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*,<2>*}union_sets > <>,<>,<2> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>*,<2>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*,<2>*}union_sets > <>,<>,<2> + 0 -- par-right.operator.union-set-right -> {<2>*}tee_set | {<>*,<>*}union_sets > <>,<>,<2> + 0" ∷
  "{<2>*}tee_set | {<2>*,<>*}union_sets > <>,<>,<2> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<2>*,<>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<2>*,<>*}union_sets > <>,<>,<2> + 0 -- par-right.operator.union-set-left -> {<2>*}tee_set | {<>*,<>*}union_sets > <>,<>,<2> + 0" ∷
  "{<>!}tee_set | {<>*,<2>*}union_sets > <2>*,<2>*,<2> + 0 -- par-right.operator.union-set-right -> {<>!}tee_set | {<>*,<>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<>!}tee_set | {<2>*,<>*}union_sets > <2>*,<2>*,<2> + 0 -- par-right.operator.union-set-left -> {<>!}tee_set | {<>*,<>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*,<>*}union_sets > <>,<>,<2> + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>*,<>*}union_sets > <2>*,<2>*,<2> + 0" ∷
  "{<2>*}tee_set | {<>*,<>*}union_sets > <>,<>,<2> + 0 -- par-right.operator.union-set-terminated -> {<2>*}tee_set | {<>!,<>!}union_sets > <>,<>,<2>* + 0" ∷
  "{<>!}tee_set | {<>*,<>*}union_sets > <2>*,<2>*,<2> + 0 -- par-right.operator.union-set-terminated -> {<>!}tee_set | {<>!,<>!}union_sets > <2>*,<2>*,<2>* + 0" ∷
  "{<2>*}tee_set | {<>!,<>!}union_sets > <>,<>,<2>* + 0 -- par-left.operator.tee -> {<>!}tee_set | {<>!,<>!}union_sets > <2>*,<2>*,<2>* + 0" ∷
  "{<>!}tee_set | {<>!,<>!}union_sets > <2>*,<2>*,<2>* + 0 is stuck" ∷
  "# union_sets | map" ∷
  "{<>,<>}union_sets | {[]}map > <>,[] + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}map > <>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}map > <>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}map > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}map > <>,[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}map > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}map > <>,[] + 0 -- par-right.operator.map -> {<2>*,<2>*}union_sets | {[]*}map > <>,[3] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}map > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-right.operator.map -> {<>*,<2>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}map > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-right.operator.map -> {<2>*,<>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}map > <>,[3] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}map > <>,[3] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}map > <>,[3] + 0 -- par-right.operator.map-terminator -> {<2>*,<2>*}union_sets | {[]!}map > <>,[3]* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}map > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}map > <2>,[] + 0 -- par-right.operator.map -> {<>*,<>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-right.operator.map-terminator -> {<>*,<2>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]*}map > <2>,[3] + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-right.operator.map-terminator -> {<2>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}map > <>,[3]* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}map > <>,[3]* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}map > <2>*,[] + 0 -- par-right.operator.map -> {<>!,<>!}union_sets | {[]*}map > <2>*,[3] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]*}map > <2>*,[3] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}map > <2>,[3] + 0 -- par-right.operator.map-terminator -> {<>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}map > <2>,[3]* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0" ∷
  "{<>!,<>!}union_sets | {[]*}map > <2>*,[3] + 0 -- par-right.operator.map-terminator -> {<>!,<>!}union_sets | {[]!}map > <2>*,[3]* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}map > <2>,[3]* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}map > <2>*,[3]* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}map > <2>*,[3]* + 0 is stuck" ∷
  "# union_sets | filter" ∷
  "{<>,<>}union_sets | {[]}filter > <>,[] + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}filter > <>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}filter > <>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}filter > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}filter > <>,[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}filter > <>,[] + 0 -- par-right.operator.filter -> {<2>*,<2>*}union_sets | {[]*}filter > <>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-right.operator.filter -> {<>*,<2>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-right.operator.filter -> {<2>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}filter > <>,[2] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}filter > <>,[2] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}filter > <>,[2] + 0 -- par-right.operator.filter-terminator -> {<2>*,<2>*}union_sets | {[]!}filter > <>,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}filter > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}filter > <2>,[] + 0 -- par-right.operator.filter -> {<>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-right.operator.filter-terminator -> {<>*,<2>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-right.operator.filter-terminator -> {<2>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}filter > <>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}filter > <>,[2]* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}filter > <2>*,[] + 0 -- par-right.operator.filter -> {<>!,<>!}union_sets | {[]*}filter > <2>*,[2] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]*}filter > <2>*,[2] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}filter > <2>,[2] + 0 -- par-right.operator.filter-terminator -> {<>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}filter > <2>,[2]* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]*}filter > <2>*,[2] + 0 -- par-right.operator.filter-terminator -> {<>!,<>!}union_sets | {[]!}filter > <2>*,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}filter > <2>,[2]* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}filter > <2>*,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}filter > <2>*,[2]* + 0 is stuck" ∷
  "# union_sets | scan" ∷
  "{<>,<>}union_sets | {[]}scan(0) > <>,[] + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}scan(0) > <>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}scan(0) > <>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}scan(0) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}scan(0) > <>,[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}scan(0) > <>,[] + 0 -- par-right.operator.scan -> {<2>*,<2>*}union_sets | {[]*}scan(2) > <>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-right.operator.scan -> {<>*,<2>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-right.operator.scan -> {<2>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}scan(2) > <>,[2] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}scan(2) > <>,[2] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}scan(2) > <>,[2] + 0 -- par-right.operator.scan-terminator -> {<2>*,<2>*}union_sets | {[]!}scan(2) > <>,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}scan(0) > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}scan(0) > <2>,[] + 0 -- par-right.operator.scan -> {<>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-right.operator.scan-terminator -> {<>*,<2>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-right.operator.scan-terminator -> {<2>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}scan(2) > <>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}scan(2) > <>,[2]* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}scan(0) > <2>*,[] + 0 -- par-right.operator.scan -> {<>!,<>!}union_sets | {[]*}scan(2) > <2>*,[2] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]*}scan(2) > <2>*,[2] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}scan(2) > <2>,[2] + 0 -- par-right.operator.scan-terminator -> {<>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]*}scan(2) > <2>*,[2] + 0 -- par-right.operator.scan-terminator -> {<>!,<>!}union_sets | {[]!}scan(2) > <2>*,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}scan(2) > <2>,[2]* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}scan(2) > <2>*,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}scan(2) > <2>*,[2]* + 0 is stuck" ∷
  "# union_sets | fold" ∷
  "{<>,<>}union_sets | {[]}fold(0) > <>,[] + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}fold(0) > <>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}fold(0) > <>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}fold(0) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}fold(0) > <>,[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}fold(0) > <>,[] + 0 -- par-right.operator.fold -> {<2>*,<2>*}union_sets | {[]*}fold(2) > <>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-right.operator.fold -> {<>*,<2>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-right.operator.fold -> {<2>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}fold(2) > <>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}fold(2) > <>,[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[]*}fold(2) > <>,[] + 0 -- par-right.operator.fold-terminator -> {<2>*,<2>*}union_sets | {[]!}fold(2) > <>,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}fold(0) > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}fold(0) > <2>,[] + 0 -- par-right.operator.fold -> {<>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<>*,<2>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-right.operator.fold-terminator -> {<>*,<2>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0" ∷
  "{<2>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-right.operator.fold-terminator -> {<2>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}fold(2) > <>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}fold(2) > <>,[2]* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}fold(0) > <2>*,[] + 0 -- par-right.operator.fold -> {<>!,<>!}union_sets | {[]*}fold(2) > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]*}fold(2) > <2>*,[] + 0" ∷
  "{<>*,<>*}union_sets | {[]*}fold(2) > <2>,[] + 0 -- par-right.operator.fold-terminator -> {<>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]*}fold(2) > <2>*,[] + 0 -- par-right.operator.fold-terminator -> {<>!,<>!}union_sets | {[]!}fold(2) > <2>*,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}fold(2) > <2>,[2]* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}fold(2) > <2>*,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}fold(2) > <2>*,[2]* + 0 is stuck" ∷
  "# union_sets | tee" ∷
  "{<>,<>}union_sets | {[]}tee > <>,[],[] + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}tee > <>,[],[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}tee > <>,[],[] + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}tee > <2>,[],[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}tee > <>,[],[] + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}tee > <>,[],[] + 0 -- par-right.operator.tee -> {<2>*,<2>*}union_sets | {[]!}tee > <>,[2]*,[2]* + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-right.operator.tee -> {<>*,<2>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-right.operator.tee -> {<2>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}tee > <>,[2]*,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}tee > <>,[2]*,[2]* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}tee > <2>*,[],[] + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}tee > <2>,[],[] + 0 -- par-right.operator.tee -> {<>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}tee > <2>*,[],[] + 0 -- par-right.operator.tee -> {<>!,<>!}union_sets | {[]!}tee > <2>*,[2]*,[2]* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}tee > <2>,[2]*,[2]* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}tee > <2>*,[2]*,[2]* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}tee > <2>*,[2]*,[2]* + 0 is stuck" ∷
  "# union_sets | drop" ∷
  "{<>,<>}union_sets | {[]}drop > <> + 1 -- arrive -> {<2>*,<2>*}union_sets | {[2]*}drop > <> + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}drop > <> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[2]*}drop > <2> + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}drop > <> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[2]*}drop > <2> + 0" ∷
  "{<2>*,<2>*}union_sets | {[2]*}drop > <> + 0 -- par-right.operator.drop -> {<2>*,<2>*}union_sets | {[]!}drop > <> + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}drop > <2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[2]*}drop > <2> + 0" ∷
  "{<>*,<2>*}union_sets | {[2]*}drop > <2> + 0 -- par-right.operator.drop -> {<>*,<2>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}drop > <2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[2]*}drop > <2> + 0" ∷
  "{<2>*,<>*}union_sets | {[2]*}drop > <2> + 0 -- par-right.operator.drop -> {<2>*,<>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}drop > <> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<2>*,<2>*}union_sets | {[]!}drop > <> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}drop > <2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[2]*}drop > <2>* + 0" ∷
  "{<>*,<>*}union_sets | {[2]*}drop > <2> + 0 -- par-right.operator.drop -> {<>*,<>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<>*,<2>*}union_sets | {[]!}drop > <2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<2>*,<>*}union_sets | {[]!}drop > <2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {[]!}drop > <2> + 0" ∷
  "{<>!,<>!}union_sets | {[2]*}drop > <2>* + 0 -- par-right.operator.drop -> {<>!,<>!}union_sets | {[]!}drop > <2>* + 0" ∷
  "{<>*,<>*}union_sets | {[]!}drop > <2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {[]!}drop > <2>* + 0" ∷
  "{<>!,<>!}union_sets | {[]!}drop > <2>* + 0 is stuck" ∷
  "# union_sets | map_set" ∷
  "{<>,<>}union_sets | {<>}map_set > <>,<> + 1 -- arrive -> {<2>*,<2>*}union_sets | {<2>*}map_set > <>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}map_set > <>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<2>*}map_set > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}map_set > <>,<> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}map_set > <>,<> + 0 -- par-right.operator.map-set -> {<2>*,<2>*}union_sets | {<>*}map_set > <>,<3> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-right.operator.map-set -> {<>*,<2>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-right.operator.map-set -> {<2>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}map_set > <>,<3> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}map_set > <>,<3> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}map_set > <>,<3> + 0 -- par-right.operator.map-set-terminated -> {<2>*,<2>*}union_sets | {<>!}map_set > <>,<3>* + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<2>*}map_set > <2>*,<> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}map_set > <2>,<> + 0 -- par-right.operator.map-set -> {<>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-right.operator.map-set-terminated -> {<>*,<2>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0" ∷
  "{<2>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-right.operator.map-set-terminated -> {<2>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}map_set > <>,<3>* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}map_set > <>,<3>* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<>!,<>!}union_sets | {<2>*}map_set > <2>*,<> + 0 -- par-right.operator.map-set -> {<>!,<>!}union_sets | {<>*}map_set > <2>*,<3> + 0" ∷
  "{<>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>*}map_set > <2>*,<3> + 0" ∷
  "{<>*,<>*}union_sets | {<>*}map_set > <2>,<3> + 0 -- par-right.operator.map-set-terminated -> {<>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<>*,<2>*}union_sets | {<>!}map_set > <2>,<3>* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0" ∷
  "{<>!,<>!}union_sets | {<>*}map_set > <2>*,<3> + 0 -- par-right.operator.map-set-terminated -> {<>!,<>!}union_sets | {<>!}map_set > <2>*,<3>* + 0" ∷
  "{<>*,<>*}union_sets | {<>!}map_set > <2>,<3>* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>!}map_set > <2>*,<3>* + 0" ∷
  "{<>!,<>!}union_sets | {<>!}map_set > <2>*,<3>* + 0 is stuck" ∷
  "# union_sets | filter_set" ∷
  "{<>,<>}union_sets | {<>}filter_set > <>,<> + 1 -- arrive -> {<2>*,<2>*}union_sets | {<2>*}filter_set > <>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}filter_set > <>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<2>*}filter_set > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}filter_set > <>,<> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}filter_set > <>,<> + 0 -- par-right.operator.filter-set -> {<2>*,<2>*}union_sets | {<>*}filter_set > <>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-right.operator.filter-set -> {<>*,<2>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-right.operator.filter-set -> {<2>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}filter_set > <>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}filter_set > <>,<2> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*}filter_set > <>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<2>*,<2>*}union_sets | {<>!}filter_set > <>,<2>* + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<2>*}filter_set > <2>*,<> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}filter_set > <2>,<> + 0 -- par-right.operator.filter-set -> {<>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>*,<2>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<2>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}filter_set > <>,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}filter_set > <>,<2>* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<2>*}filter_set > <2>*,<> + 0 -- par-right.operator.filter-set -> {<>!,<>!}union_sets | {<>*}filter_set > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>*}filter_set > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*}filter_set > <2>,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<>*,<2>*}union_sets | {<>!}filter_set > <2>,<2>* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>*}filter_set > <2>*,<2> + 0 -- par-right.operator.filter-set-terminated -> {<>!,<>!}union_sets | {<>!}filter_set > <2>*,<2>* + 0" ∷
  "{<>*,<>*}union_sets | {<>!}filter_set > <2>,<2>* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>!}filter_set > <2>*,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>!}filter_set > <2>*,<2>* + 0 is stuck" ∷
  "# union_sets | tee_set" ∷
  "{<>,<>}union_sets | {<>}tee_set > <>,<>,<> + 1 -- arrive -> {<2>*,<2>*}union_sets | {<2>*}tee_set > <>,<>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}tee_set > <>,<>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}tee_set > <>,<>,<> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*}tee_set > <>,<>,<> + 0 -- par-right.operator.tee -> {<2>*,<2>*}union_sets | {<>!}tee_set > <>,<2>*,<2>* + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-right.operator.tee -> {<>*,<2>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-right.operator.tee -> {<2>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}tee_set > <>,<2>*,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!}tee_set > <>,<2>*,<2>* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<2>*}tee_set > <2>*,<>,<> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*}tee_set > <2>,<>,<> + 0 -- par-right.operator.tee -> {<>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<>*,<2>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<2>*}tee_set > <2>*,<>,<> + 0 -- par-right.operator.tee -> {<>!,<>!}union_sets | {<>!}tee_set > <2>*,<2>*,<2>* + 0" ∷
  "{<>*,<>*}union_sets | {<>!}tee_set > <2>,<2>*,<2>* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>!}tee_set > <2>*,<2>*,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>!}tee_set > <2>*,<2>*,<2>* + 0 is stuck" ∷
  "# union_sets | union_sets" ∷
  "{<>,<>}union_sets | {<>,<>}union_sets > <>,<> + 1 -- arrive -> {<2>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-left -> {<2>*,<2>*}union_sets | {<>*,<2>*}union_sets > <>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <>,<> + 0 -- par-right.operator.union-set-right -> {<2>*,<2>*}union_sets | {<2>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-right -> {<>*,<2>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-left -> {<2>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<2>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-right -> {<2>*,<2>*}union_sets | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<2>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-left -> {<2>*,<2>*}union_sets | {<>*,<>*}union_sets > <>,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<2>*,<2>*}union_sets > <2>*,<> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-left -> {<>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*,<2>*}union_sets > <2>,<> + 0 -- par-right.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-right -> {<>*,<2>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-right -> {<2>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-left -> {<2>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<>*}union_sets > <>,<2> + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<2>*}union_sets | {<>*,<>*}union_sets > <>,<2> + 0 -- par-right.operator.union-set-terminated -> {<2>*,<2>*}union_sets | {<>!,<>!}union_sets > <>,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<2>*,<2>*}union_sets > <2>*,<> + 0 -- par-right.operator.union-set-left -> {<>!,<>!}union_sets | {<>*,<2>*}union_sets > <2>*,<2> + 0" ∷
  "{<>!,<>!}union_sets | {<2>*,<2>*}union_sets > <2>*,<> + 0 -- par-right.operator.union-set-right -> {<>!,<>!}union_sets | {<2>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>*,<2>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*,<2>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-right -> {<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<2>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<2>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-left -> {<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<>*,<2>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-terminated -> {<>*,<2>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0" ∷
  "{<2>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-terminated -> {<2>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!,<>!}union_sets > <>,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<2>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<2>*,<2>*}union_sets | {<>!,<>!}union_sets > <>,<2>* + 0 -- par-left.operator.union-set-right -> {<2>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>*,<2>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-right -> {<>!,<>!}union_sets | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>!,<>!}union_sets | {<2>*,<>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-left -> {<>!,<>!}union_sets | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>*,<>*}union_sets > <2>*,<2> + 0" ∷
  "{<>*,<>*}union_sets | {<>*,<>*}union_sets > <2>,<2> + 0 -- par-right.operator.union-set-terminated -> {<>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<>*,<2>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0 -- par-left.operator.union-set-right -> {<>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<2>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0 -- par-left.operator.union-set-left -> {<>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>*,<>*}union_sets > <2>*,<2> + 0 -- par-right.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>!,<>!}union_sets > <2>*,<2>* + 0" ∷
  "{<>*,<>*}union_sets | {<>!,<>!}union_sets > <2>,<2>* + 0 -- par-left.operator.union-set-terminated -> {<>!,<>!}union_sets | {<>!,<>!}union_sets > <2>*,<2>* + 0" ∷
  "{<>!,<>!}union_sets | {<>!,<>!}union_sets > <2>*,<2>* + 0 is stuck" ∷
  []

as-expected : report ≡ expected
as-expected = refl
