"""The schemas of a subject in a schema registry. `make connectors` reads messages with them."""

from __future__ import annotations

from typing import Any

import pytest

import flo
from flo.spark import registered_schemas
from tests.spark.registry import registry


def test_all_versions_of_a_subject_are_read() -> None:
    with registry() as server:
        server.register("clicks-value", 7, '"string"')
        server.register("clicks-value", 300, '"long"')
        server.register("a/b c", 9, '"int"')
        server.register("orders-value", 5, 'syntax = "proto3";', schemaType="PROTOBUF", references=[{"subject": "x"}])
        assert registered_schemas(server.url, "clicks-value") == {7: '"string"', 300: '"long"'}
        assert registered_schemas(server.url + "/", "a/b c") == {9: '"int"'}
        assert list(registered_schemas(server.url, "orders-value", "protobuf")) == [5]
        server.deleted.add(("clicks-value", 1))
        assert list(registered_schemas(server.url, "clicks-value")) == [7, 300], "messages of it may be left"


def test_a_user_and_a_password() -> None:
    with registry(("ann", "sécret:1")) as server:
        server.register("clicks-value", 7, '"string"')
        assert registered_schemas(server.url, "clicks-value", auth=("ann", "sécret:1")) == {7: '"string"'}
        with pytest.raises(flo.FloError, match="refuses to show the subject `clicks-value`: `auth` is not given"):
            registered_schemas(server.url, "clicks-value")
        of_bob = ("bob", "hidden")  # not on the line that the error quotes
        with pytest.raises(flo.FloError, match="`auth` has the user 'bob'") as caught:
            registered_schemas(server.url, "clicks-value", auth=of_bob)
        assert "hidden" not in str(caught.value)


def test_what_cannot_be_read() -> None:
    with registry() as server:
        server.register("json-value", 1, "{}", schemaType="JSON")
        server.register("split-value", 2, "{}", references=[{"name": "a", "subject": "address", "version": 1}])
        cases: list[tuple[type[flo.FloError], str, tuple[Any, ...]]] = [
            (flo.UnknownNameError, "has no subject `orders-value`", (server.url, "orders-value")),
            (flo.TypeMismatch, "version 1 of the subject `json-value` is a schema of json", (server.url, "json-value")),
            (flo.TypeMismatch, "is a schema of json, not of protobuf", (server.url, "json-value", "protobuf")),
            (flo.TypeMismatch, "refers to other subjects", (server.url, "split-value")),
            (flo.TypeMismatch, "`url` must be the address", ("registry:8081", "x")),
            (flo.TypeMismatch, "`url` must be the address", ("file:///etc/passwd", "x")),
            (flo.TypeMismatch, "`kind` must be one of avro, protobuf; got 'json'", (server.url, "x", "json")),
        ]
        for error, text, given in cases:
            with pytest.raises(error, match=text):
                registered_schemas(*given)
        server.broken = True
        with pytest.raises(flo.UnreachableError, match="does not answer as a schema registry does"):
            registered_schemas(server.url, "json-value")
        url = server.url
    with pytest.raises(flo.UnreachableError, match=r"cannot be reached: .*refused"):
        registered_schemas(url, "json-value")
