"""Verbs: what they refuse when the program is built, and what ends. Their results: `tests/engines`."""

from __future__ import annotations

# mypy: disable-error-code="no-untyped-def, no-untyped-call, arg-type, misc, call-overload, attr-defined"
import inspect
from collections import Counter
from functools import partial
from operator import itemgetter
from typing import Any

import pytest

import flo
from flo.api.aggregates import AGGREGATES


async def later(x: Any, y: Any = None) -> Any:
    return x


class Later:
    async def __call__(self, x: Any) -> Any:
        return x


def stream(collection: Any, *, bounded: bool = False) -> Any:
    return flo.Flow("verbs").input("xs", collection, bounded=bounded)


def run(build, collection: Any = flo.Sequence[int], *, data: Any, bounded: bool = False) -> Any:
    flow = flo.Flow("verbs")
    flow.output("out", build(flow.input("xs", collection, bounded=bounded)))
    return flow.run(xs=data)["out"]


NUMBERS, ROWS, BAG = flo.Sequence[int], flo.ZSet[int], flo.Bag[int]
LVAR: Any = flo.LVar(flo.Max(int))
KEYED = flo.Keyed[int, flo.Sequence[int]]
NESTED = flo.Nested[flo.Sequence[int]]

FUNCTIONS: dict[str, tuple[Any, int, Any]] = {  # the verb, how many arguments its function gets, the call
    "map": (NUMBERS, 1, lambda s, f: s.map(f)),
    "filter": (NUMBERS, 1, lambda s, f: s.filter(f)),
    "flat_map": (NUMBERS, 1, lambda s, f: s.flat_map(f)),
    "fold": (NUMBERS, 2, lambda s, f: s.fold(0, f)),
    "fold of a bag": (BAG, 2, lambda s, f: s.fold(0, f)),
    "scan": (NUMBERS, 2, lambda s, f: s.scan(0, f)),
    "tumbling": (NUMBERS, 1, lambda s, f: s.tumbling(1, f)),
    "sliding": (NUMBERS, 1, lambda s, f: s.sliding(2, 1, f)),
    "session": (NUMBERS, 1, lambda s, f: s.session(1, f)),
    "map_monotone": (LVAR, 1, lambda s, f: s.map_monotone(f, flo.Max(int))),
    "map_weights": (ROWS, 2, lambda s, f: s.map_weights(f)),
    "group_by": (ROWS, 1, lambda s, f: s.group_by(key=f).agg(n=flo.count())),
    "agg": (ROWS, 1, lambda s, f: s.agg(sum=flo.sum(f))),
    "agg with finish": (ROWS, 1, lambda s, f: s.agg(total=flo.linear("value", f))),
    "top": (ROWS, 1, lambda s, f: s.top(1, f)),
    "key_by": (NUMBERS, 1, lambda s, f: s.key_by(f)),
    "map_values": (KEYED, 1, lambda s, f: s.map_values(f)),
    "filter_keys": (KEYED, 1, lambda s, f: s.filter_keys(f)),
}
OPTIONAL: dict[str, tuple[Any, int, Any]] = {
    "sort": (NUMBERS, 1, lambda s, f: s.sort(f)),
    "merge": (NUMBERS, 1, lambda s, f: s.merge(s, f)),
    "fold_lattice": (NUMBERS, 1, lambda s, f: s.fold_lattice(flo.Max(int), f)),
    "join": (ROWS, 2, lambda s, f: s.join(s, abs, abs, f)),
    "join left into": (ROWS, 2, lambda s, f: s.join(s, abs, abs, f, how="left")),
    "join right into": (ROWS, 2, lambda s, f: s.join(s, abs, abs, f, how="right")),
    "join full into": (ROWS, 2, lambda s, f: s.join(s, abs, abs, f, how="full")),
    "join keyed": (KEYED, 2, lambda s, f: s.join(s, into=f)),
    "top by": (ROWS, 1, lambda s, f: s.top(1, abs, by=f)),
}
JOINS: dict[str, tuple[Any, int, Any]] = {
    "join on": (ROWS, 1, lambda s, f: s.join(s, f, abs)),
    "join semi": (ROWS, 1, lambda s, f: s.join(s, f, abs, how="semi")),
    "join anti": (ROWS, 1, lambda s, f: s.join(s, abs, f, how="anti")),
    "join left": (ROWS, 1, lambda s, f: s.join(s, f, abs, how="left")),
    "join right": (ROWS, 1, lambda s, f: s.join(s, f, abs, how="right")),
    "join full": (ROWS, 1, lambda s, f: s.join(s, abs, f, how="full")),
}
VERBS = FUNCTIONS | OPTIONAL | JOINS


def refused(name: str, given: Any) -> str:
    collection, _, verb = VERBS[name]
    with pytest.raises(flo.TypeMismatch) as caught:
        verb(stream(collection, bounded=True), given)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert f"`{name.split()[0]}`" in caught.value.summary
    return str(caught.value)


@pytest.mark.parametrize("name", VERBS)
def test_what_is_no_function_is_refused_when_the_program_is_built(name: str) -> None:
    assert "got 3" in (text := refused(name, 3)) or "got int" in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_is_needed_cannot_be_none(name: str) -> None:
    assert "got None" in refused(name, None)


@pytest.mark.parametrize("name", JOINS)
def test_a_join_needs_both_keys(name: str) -> None:
    assert "must get both `on` and `other_on`, or neither" in refused(name, None)


@pytest.mark.parametrize("how", ["left", "right", "full", "semi", "anti"])
def test_a_kind_of_join_is_not_a_verb(how: str) -> None:
    with pytest.raises(flo.UnknownVerbError, match=rf'join\(other, …, how="{how}"\)   the verb for this'):
        getattr(stream(ROWS), f"{how}_join")


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_function_that_is_optional_can(name: str) -> None:
    collection, _, verb = OPTIONAL[name]
    verb(stream(collection, bounded=True), None)


@pytest.mark.parametrize("name", VERBS)
def test_coroutine_functions_are_refused(name: str) -> None:
    assert "later(" in refused(name, later)


def test_so_are_objects_and_generators_that_are_asynchronous() -> None:
    async def several(x: Any) -> Any:
        yield x

    assert "a coroutine function" in refused("map", Later())
    assert "a coroutine function" in refused("flat_map", several)
    assert "a coroutine function" in refused("map", partial(later, y=1))


@pytest.mark.parametrize("name", VERBS)
def test_functions_of_other_arguments_are_refused(name: str) -> None:
    takes = VERBS[name][1]
    text = refused(name, lambda: 0)
    assert f"must accept {takes} argument" in text
    assert "given" in text
    refused(name, lambda x, y, z: 0)
    refused(name, (lambda x, y: 0) if takes == 1 else (lambda x: 0))


@pytest.mark.parametrize(
    "f", [str, int, abs, itemgetter(0), print, Counter, lambda *xs: 0, lambda x, y=1: 0, partial(max, 0)]
)
def test_functions_that_may_take_the_arguments_are_accepted(f: Any) -> None:
    stream(NUMBERS).map(f)


def test_a_lattice_that_is_none_is_refused_on_the_line() -> None:
    with pytest.raises(flo.FloError) as caught:
        stream(NUMBERS).fold_lattice(max)
    assert caught.value.where is not None


class TestBodies:
    def refused(self, build, collection: Any = NUMBERS) -> str:
        with pytest.raises(flo.FloError) as caught:
            build(stream(collection))
        assert caught.value.where is not None
        assert caught.value.where.file == __file__
        return str(caught.value)

    def test_a_body_must_be_a_function(self) -> None:
        assert "`body` of `nest` must be a function" in self.refused(lambda s: s.batch(2).nest(3))
        assert "`body` of `per_key` must be a function" in self.refused(lambda s: s.key_by(abs).per_key(None))
        assert "coroutine" in self.refused(lambda s: s.batch(2).nest(later))

    def test_a_body_must_return_a_stream(self) -> None:
        assert "the body of `per_key` must return a stream" in self.refused(
            lambda s: s.key_by(abs).per_key(lambda k: None)
        )
        assert "the body of `nest` must return a stream" in self.refused(lambda s: s.batch(2).nest(lambda b: None))
        assert "the body of `nest` must return a stream" in self.refused(lambda s: s.batch(2).nest(lambda b: ()))
        assert "the body of `nest` returns int" in self.refused(lambda s: s.batch(2).nest(lambda b: 3))
        assert "return a, b" in self.refused(lambda s: s.batch(2).nest(lambda b: [b, b]))
        assert "the body of `per_key` returns int" in self.refused(lambda s: s.key_by(abs).per_key(lambda k: (k, 3)))

    def test_a_body_that_only_writes_may_return_nothing(self) -> None:
        def body(batch, loop):
            before = loop.read_defer("all", flo.Sequence[int], initial=[])
            loop.write_defer("all", before.union(batch))

        assert run(lambda s: s.batch(2).nest(body), data=[1, 2, 3, 4]) == [(), ()]

    def test_a_keyword_only_argument_that_nothing_gives(self) -> None:
        assert "keyword-only argument k" in self.refused(lambda s: s.batch(2).nest(lambda b, *, k: b))

    def test_too_few_arguments(self) -> None:
        assert "takes 0 arguments" in self.refused(lambda s: s.batch(2).nest(lambda: None))
        assert "takes 2 arguments" in self.refused(lambda s: s.key_by(abs).per_key(lambda k, loop: k))

    @pytest.mark.parametrize(
        ("body", "loops"),
        [
            (lambda b, loop: (b, loop), True),
            (lambda b, loop=None: (b, loop), True),
            (lambda b, loop=None, k=3: (b, loop), True),
            (lambda b, n=3: (b, n), False),
            (lambda b=None, n=3: (b, n), False),
            (lambda b, *, n=3: (b, n), False),
            (lambda *bs: (*bs, None), False),
            (lambda b, loop, *rest: (b, loop), True),
        ],
    )
    def test_which_bodies_get_the_loop(self, body, loops: bool) -> None:
        seen = []

        def watched(inner):
            seen.append(inner[1])
            return inner[0]

        wrapped: Any = lambda *a: watched(body(*a))  # noqa: E731
        wrapped.__wrapped__ = body  # the signature of the body itself
        assert run(lambda s: s.batch(2).nest(wrapped), data=[1, 2, 3]) == [[1, 2]]
        assert [isinstance(loop, flo.Loop) for loop in seen] == [loops]

    def test_a_default_that_captures_a_variable_keeps_it(self) -> None:
        assert run(lambda s: s.batch(3).nest(lambda b, n=2: b.take(n)), data=[1, 2, 3]) == [[1, 2]]

    def test_a_constant_of_other_elements(self) -> None:
        text = self.refused(lambda s: s.batch(2).nest(lambda b, loop: loop.constant(flo.Sequence[int], ["a"])))
        assert "`constant`" in text
        text = self.refused(
            lambda s: s.batch(2).nest(lambda b, loop: loop.read_defer("k", flo.Sequence[int], initial=["a"]))
        )
        assert "`read_defer('k')`" in text

    def test_other_collections(self) -> None:
        assert "`nest` requires Nested; `xs` is a Sequence" in self.refused(lambda s: s.nest(lambda b: b))
        assert "`per_key` requires Keyed; `xs` is a Sequence" in self.refused(lambda s: s.per_key(lambda b: b))
        assert "and `xs` is a Sequence" in self.refused(lambda s: s.key_by(abs).per_key(lambda a, b: a, s))


class TestCombining:
    @pytest.mark.parametrize("collection", [flo.Set[int], flo.Bag[int], flo.ZSet[int]])
    def test_a_join_needs_the_keys_of_both_sides(self, collection: Any) -> None:
        xs = stream(collection)
        with pytest.raises(flo.TypeMismatch, match="got only `on`") as caught:
            xs.join(xs, abs)
        assert caught.value.where is not None
        with pytest.raises(flo.TypeMismatch, match="got only `other_on`"):
            xs.join(xs, other_on=abs)

    def test_keyed_streams_take_no_other_keys(self) -> None:
        xs = stream(KEYED)
        with pytest.raises(flo.TypeMismatch, match="does not take `on` here"):
            xs.join(xs, on=abs, other_on=abs)

    @pytest.mark.parametrize("collection", [NUMBERS, NESTED, LVAR])
    def test_collections_without_a_join(self, collection: Any) -> None:
        xs = stream(collection)
        with pytest.raises(flo.CollectionError, match="`join` requires Set, Bag, ZSet or Keyed") as caught:
            xs.join(xs)
        assert caught.value.where is not None

    @pytest.mark.parametrize("collection", [NESTED, KEYED])
    def test_collections_without_a_union(self, collection: Any) -> None:
        xs = stream(collection)
        with pytest.raises(flo.CollectionError, match="`union` requires Sequence, Bag, Set, ZSet or LVar"):
            xs.union(xs)

    def test_first(self) -> None:
        flow = flo.Flow("first")
        flow.output("first", flow.input("xs", NUMBERS).first())
        result = flow.run(xs=[7, 8])
        assert result["first"] == [7]
        assert result.fixed("first")


class TestWholeZSets:
    def test_a_bounded_one_ends(self) -> None:
        flow = flo.Flow("totals")
        flow.output("out", flow.input("rows", ROWS, bounded=True).agg(n=flo.count()))
        assert flow.run(rows={3: 2}).fixed("out")

    def test_other_collections(self) -> None:
        with pytest.raises(flo.CollectionError, match="`agg` requires ZSet") as refused:
            stream(NUMBERS).agg(most=flo.max("value"))
        assert "xs.to_zset()" in str(refused.value)
        with pytest.raises(flo.TypeMismatch, match="does not take `of`") as caught:
            stream(flo.Set[int], bounded=True).sum(abs)
        assert "to_bag().map(of).sum()" in str(caught.value)

    @pytest.mark.parametrize(
        ("verb", "instead"),
        [
            ("count_by", "group_by(…).agg(n=flo.count())"),
            *((f"{kind}_by", f"group_by(…).agg({kind}=flo.{kind}(…))") for kind in ("sum", "avg", "min", "max")),
            ("count_distinct_by", "group_by(…).agg(count_distinct=flo.count_distinct(…))"),
            ("aggregate_by", "group_by(…).agg(name=flo.linear(of, finish))"),
            *((kind, f"agg({kind}=flo.{kind}(…))") for kind in ("avg", "min", "max", "count_distinct")),
        ],
    )
    def test_aggregates_are_not_verbs(self, verb: str, instead: str) -> None:
        with pytest.raises(flo.UnknownVerbError, match=f"no verb `{verb}`") as caught:
            getattr(stream(ROWS), verb)(abs)
        assert instead in str(caught.value)

    def test_a_whole_z_set_is_aggregated_by_agg(self) -> None:
        with pytest.raises(flo.CollectionError, match="`count` requires Sequence, Bag or Set") as caught:
            stream(ROWS).count()
        assert "xs.agg(n=flo.count())" in str(caught.value)
        with pytest.raises(flo.CollectionError, match="`sum` requires Sequence, Bag or Set") as caught:
            stream(ROWS).sum(abs)
        assert "xs.agg(sum=flo.sum(…))" in str(caught.value)

    def test_a_bag_has_no_distinct(self) -> None:
        with pytest.raises(flo.CollectionError, match="`distinct` requires Sequence or ZSet") as caught:
            stream(BAG).distinct()
        assert "xs.to_set()" in str(caught.value)


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_an_aggregate_takes_no_keyword_of_another_one(name: str) -> None:
    aggregate: Any = getattr(flo, name)
    taken = inspect.signature(aggregate).parameters
    for other in {"options", "order_by", "distinct"} - taken.keys():
        needed = [
            each for each in taken.values() if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
        ]
        with pytest.raises(flo.TypeMismatch, match=f"`{name}` has no argument `{other}`"):
            aggregate(*(["x"] * len(needed)), **{other: "y"})
