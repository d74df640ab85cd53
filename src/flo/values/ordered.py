"""An immutable sorted set of keys with logarithmic lookup, insertion and removal.

It is a treap: sorted by key, and a heap by rank. Ranks are hashes of the keys, so the shape of the tree does not depend
on the order of insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.core.untyped import Element

K = TypeVar("K")
Tree: TypeAlias = tuple[int, Element, "Tree", "Tree"] | None
"""(rank, key, smaller keys, larger keys)."""


class SortedKeys(Lowerable, Generic[K]):
    """{k₁ < k₂ < …}: comparable, hashable keys."""

    __slots__ = ("_tree",)

    def __init__(self, keys: Iterable[K] = ()) -> None:
        self._tree: Tree = None
        for key in keys:
            self._tree = add(self._tree, rank(key), key)

    @classmethod
    def _of(cls, tree: Tree) -> SortedKeys[K]:
        ordered: SortedKeys[K] = cls.__new__(cls)
        ordered._tree = tree
        return ordered

    def added(self, key: K) -> SortedKeys[K]:
        return self._of(add(self._tree, rank(key), key))

    def removed(self, key: K) -> SortedKeys[K]:
        return self._of(remove(self._tree, key))

    def first(self) -> Element:
        """Return the smallest key; None if the set is empty."""
        tree = self._tree
        while tree is not None and tree[2] is not None:
            tree = tree[2]
        return None if tree is None else tree[1]

    def at_most(self, key: K) -> Element:
        """Return the largest key ≤ this one; None if there is none."""
        tree, best = self._tree, None
        while tree is not None:
            if key < tree[1]:
                tree = tree[2]
            else:
                best, tree = tree[1], tree[3]
        return best

    def above(self, key: K) -> Element:
        """Return the smallest key > this one; None if there is none."""
        tree, best = self._tree, None
        while tree is not None:
            if key < tree[1]:
                best, tree = tree[1], tree[2]
            else:
                tree = tree[3]
        return best

    def __iter__(self) -> Iterator[K]:
        path: list[Tree] = []
        tree = self._tree
        while path or tree is not None:
            while tree is not None:
                path.append(tree)
                tree = tree[2]
            node = path.pop()
            assert node is not None
            yield node[1]
            tree = node[3]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortedKeys) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def lower(self, lower: Lowering) -> Term:
        return Call("ordered", (lower.many(list(self)),))

    def __repr__(self) -> str:
        return f"SortedKeys({list(self)!r})"


register("ordered", SortedKeys)


def rank(key: object) -> int:
    return hash((key, 0x9E3779B9))  # the hash of a number is the number itself; a tuple's hash mixes it


def add(tree: Tree, height: int, key: object) -> Tree:
    if tree is None:
        return (height, key, None, None)
    if key == tree[1]:
        return tree
    if height > tree[0]:
        return (height, key, *split(tree, key))
    if key < tree[1]:
        return (tree[0], tree[1], add(tree[2], height, key), tree[3])
    return (tree[0], tree[1], tree[2], add(tree[3], height, key))


def remove(tree: Tree, key: object) -> Tree:
    if tree is None:
        return None
    if key == tree[1]:
        return merge(tree[2], tree[3])
    if key < tree[1]:
        return (tree[0], tree[1], remove(tree[2], key), tree[3])
    return (tree[0], tree[1], tree[2], remove(tree[3], key))


def split(tree: Tree, key: object) -> tuple[Tree, Tree]:
    """Split into the keys below this one and those above it."""
    if tree is None:
        return None, None
    if key < tree[1]:
        low, high = split(tree[2], key)
        return low, (tree[0], tree[1], high, tree[3])
    low, high = split(tree[3], key)
    return (tree[0], tree[1], tree[2], low), high


def merge(low: Tree, high: Tree) -> Tree:
    """Merge two trees; every key of the first must be below every key of the second."""
    if low is None or high is None:
        return high if low is None else low
    if low[0] > high[0]:
        return (low[0], low[1], low[2], merge(low[3], high))
    return (high[0], high[1], merge(low, high[2]), high[3])
