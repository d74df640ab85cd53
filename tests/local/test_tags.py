"""Tags keep versions, whatever the retention is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flo.core.errors import CheckpointError, NameTakenError, UnknownNameError
from flo.shards.checkpoint import tags
from flo.shards.checkpoint.commits import committed_versions, remove_commit
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.tags import add_tag, list_tags, remove_tag
from flo.shards.views import View
from tests.local.shop_totals import (
    expect_sound,
    expected,
    push,
    push_meanwhile,
    rows,
    start,
    strays,
    views,
)
from tests.rescaling import rescale


@pytest.mark.parametrize("workers", [1, 2])
def test_a_tag_keeps_a_version_to_which_a_start_goes_back(tmp_path: Path, workers: int) -> None:
    with start(tmp_path, workers=workers, shards=2) as query:
        push(query, range(3))
        assert add_tag(str(tmp_path), "before-friday") == 2
        push(query, range(50, 58))
        assert committed_versions(str(tmp_path)) == [2, 9, 10]
        assert rows(View.of(str(tmp_path), "totals", 2)) == expected([0, 1, 2])["totals"]
    expect_sound(tmp_path)
    with start(tmp_path, workers=workers, version="before-friday") as query:
        assert views(query) == expected([0, 1, 2])
        assert committed_versions(str(tmp_path)) == [2]
        expect_sound(tmp_path)
        push(query, range(3, 8))
        assert query.progress[0].version == 3
        assert views(query) == expected(list(range(8)))
    expect_sound(tmp_path)
    assert list(strays(tmp_path)) == []
    with start(tmp_path) as query:
        push(query, range(8, 9))
        assert views(query) == expected(list(range(9)))


def test_a_removed_tag_frees_its_version(tmp_path: Path) -> None:
    where = str(tmp_path)
    with start(tmp_path) as query:
        push(query, range(2))
        add_tag(where, "first", 0)
        add_tag(where, "again", "first")
        push(query, range(2, 9))
        assert remove_tag(where, "first") == 0
        assert list_tags(where) == {"again": 0}
        push(query, range(9, 10))
        assert committed_versions(where) == [0, 8, 9]
        remove_tag(where, "again")
        assert committed_versions(where) == [8, 9]
        push(query, range(10, 14))
    expect_sound(tmp_path)
    assert not list(strays(tmp_path))
    assert not list(tmp_path.glob("state/*/*/*/manifests/00000000.json"))
    with pytest.raises(UnknownNameError, match="no tag `first`"):
        remove_tag(where, "first")


def test_names_of_tags(tmp_path: Path) -> None:
    where = str(tmp_path)
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        add_tag(where, "friday")
    with start(tmp_path) as query:
        with pytest.raises(CheckpointError, match="no version is committed yet"):
            add_tag(where, "friday")
        push(query, range(3))
        for name in ("", "7", "a/b", "..", ".a", "a b", "ä"):
            with pytest.raises(UnknownNameError, match="a tag must be a name"):
                add_tag(where, name)
        assert add_tag(where, "v1.2_final-", 1) == 1
        assert add_tag(where, "v1.2_final-", 1) == 1
        with pytest.raises(NameTakenError, match="of version 1"):
            add_tag(where, "v1.2_final-", 2)
        assert list_tags(where) == {"v1.2_final-": 1}


def test_later_tags_are_not_abandoned(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        push(query, range(2))
        add_tag(str(tmp_path), "early")
        push(query, range(2, 4))
        add_tag(str(tmp_path), "late")
        push(query, range(4, 8))
    with pytest.raises(CheckpointError, match="would remove later versions that have tags"):
        start(tmp_path, version="early")
    copy_checkpoint(str(tmp_path), str(tmp_path.parent / f"{tmp_path.name}-copy"), "late")
    remove_tag(str(tmp_path), "late")
    with start(tmp_path, version="early") as query:
        assert views(query) == expected([0, 1])
    with start(tmp_path.parent / f"{tmp_path.name}-copy") as query:
        assert views(query) == expected([0, 1, 2, 3])


def test_a_tag_of_a_version_that_is_being_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(tmp_path)
    with start(tmp_path) as query:
        push(query, range(4))
        tagging = tags.tag_commit

        def remove_first(*given: Any) -> None:
            push(query, range(4, 6))
            tagging(*given)

        def remove_between(where: str, version: int, tag: str) -> None:
            tagging(where, version, tag)
            remove_commit(where, version)  # retention has not seen the tag

        for act in (remove_first, remove_between):
            version = committed_versions(where)[0]
            with monkeypatch.context() as patched:
                patched.setattr(tags, "tag_commit", act)
                with pytest.raises(CheckpointError, match=f"version {version} was removed while the tag was made"):
                    add_tag(where, "friday", version)
            assert list_tags(where) == {}
            assert not (tmp_path / "tags").exists() or not list((tmp_path / "tags").iterdir())

        def remove_later(*given: Any) -> None:
            tagging(*given)
            push(query, range(6, 9))

        version = committed_versions(where)[0]
        with monkeypatch.context() as patched:
            patched.setattr(tags, "tag_commit", remove_later)
            with pytest.raises(CheckpointError, match="was removed while the tag was made"):
                add_tag(where, "friday", version)
        push(query, range(9, 12))
    expect_sound(tmp_path)


def test_tags_made_while_pushes_go_on_hold(tmp_path: Path) -> None:
    where, made, late = str(tmp_path), dict[str, int](), list[str]()

    def keep_tagging() -> None:
        while len(made) < 8:
            tag = f"t{len(made) + len(late)}"
            try:
                made[tag] = add_tag(where, tag, None if len(made) % 2 else committed_versions(where)[0])
            except CheckpointError as error:
                late.append(str(error))

    with start(tmp_path, shards=2) as query:
        push_meanwhile(query, keep_tagging)
    assert all("removed while the tag was made" in text or "no longer kept" in text for text in late)
    assert list_tags(where) == dict(sorted(made.items()))
    for version in set(made.values()):
        assert rows(View.of(where, "totals", version)) == expected(list(range(version + 1)))["totals"]
    expect_sound(tmp_path)


def test_another_number_of_shards_leaves_tags_as_they_are(tmp_path: Path) -> None:
    with start(tmp_path, shards=2) as query:
        push(query, range(3))
        add_tag(str(tmp_path), "early")
        push(query, range(30, 36))
    rescale(str(tmp_path), 3)
    expect_sound(tmp_path)
    with start(tmp_path, version="early") as query:
        push(query, range(3, 6))
        assert views(query) == expected(list(range(6)))
    expect_sound(tmp_path)
