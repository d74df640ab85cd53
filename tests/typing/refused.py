"""Programs that type checkers must refuse: every line that ends in `# refused`, and no other."""

from __future__ import annotations

import flo

flow = flo.Flow("refused")
open_numbers = flow.input("open", flo.Sequence[int])
numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
words = flow.input("words", flo.Bag[str])
some = flow.input("some", flo.Set[int])
rows = flow.input("rows", flo.ZSet[int])
texts = flow.input("texts", flo.ZSet[str])
names = flow.input("names", flo.Set[str], bounded=True)
lines = flow.input("lines", flo.Sequence[str], bounded=True)

open_numbers.fold(0, lambda acc, x: acc + x)  # refused
open_numbers.last()  # refused
numbers.zip(open_numbers).last()  # refused
open_numbers.sum()  # refused
words.scan(0, lambda acc, x: acc + len(x))  # refused
words.batch(3)  # refused
open_numbers.window(3)  # refused
open_numbers.enumerate().window("x")  # refused
open_numbers.tumbling("x", lambda x: x)  # refused
open_numbers.clock(lambda x: x, "x")  # refused
rows.tumbling(3, lambda x: x)  # refused
rows.group_by("value").agg(n=flo.count()).final()  # refused
open_numbers.union(numbers)  # refused
some.difference(some)  # refused
some.minus(some)  # refused
rows.to_set()  # refused
numbers.threshold(5)  # refused
open_numbers.fold_lattice(flo.Max(int)).to_sequence()  # refused
open_numbers.repeat_nested(3)  # refused
numbers.nest(lambda b: b)  # refused
open_numbers.zip(words)  # refused
numbers.map(lambda x: x.upper())  # refused
open_numbers.count()  # refused
rows.max()  # refused
rows.count()  # refused
rows.sum()  # refused
numbers.sum(abs)  # refused
words.distinct()  # refused
words.first()  # refused
rows.join(rows, abs)  # refused
open_numbers.merge(numbers)  # refused
rows.join(rows, abs, abs, into=abs, how="left")  # refused
rows.join(rows, abs, abs, into=lambda r, s: r + s, how="right")  # refused
rows.join(rows, abs, how="full")  # refused
rows.join(rows, abs, abs, into=min, how="semi")  # refused
numbers.map(3)  # refused
rows.union(texts)  # refused
rows.minus(texts)  # refused
rows.join(texts)  # refused
some.intersection(names)  # refused
some.difference(names)  # refused
some.union(words)  # refused
numbers.union(lines)  # refused
numbers.merge(lines)  # refused
words.union(words.map(len))  # refused
numbers.group_by("a")  # refused
words.agg(n=flo.count())  # refused
open_numbers.rollup("a")  # refused
some.union_distinct(some)  # refused
rows.select(3)  # refused
rows.with_columns(twice=3)  # refused
rows.drop(3)  # refused
rows.group_by("a").agg(n=3)  # refused
rows.join(rows, on="a", how="outer")  # refused
rows.join(rows, on="a", suffix=3)  # refused
rows.join(rows, how="left")  # refused
some.join(some, on=abs, other_on=abs, how="left")  # refused
words.join(words, on="a", how="left")  # refused
rows.join(rows, on=abs, other_on=abs, how="left", suffix="_other")  # refused
rows.left_join(rows, abs, abs)  # refused
numbers.join(numbers, on="a")  # refused
