"""The schemas of a subject in a schema registry, by id: what the messages of a topic may have been written with.

    GET /subjects/clicks-value/versions?deleted=true      [1, 2]
    GET /subjects/clicks-value/versions/1?deleted=true    {"id": 7, "schema": "…", "schemaType": "PROTOBUF"}

A type is left out if it is Avro. Versions that were deleted count, since messages of them may still be in the topic.
"""

from __future__ import annotations

import base64
import json
from http.client import HTTPException
from typing import Literal, TypeAlias, get_args
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from flo.core.errors import FloError, TypeMismatch, UnknownNameError, UnreachableError, brief
from flo.core.untyped import Json

SchemaKind: TypeAlias = Literal["avro", "protobuf"]
PATIENCE = 30
"""How many seconds the registry may take for an answer."""
NOT_FOUND, REFUSED = 404, (401, 403)


def registered_schemas(
    url: str, subject: str, kind: SchemaKind = "avro", *, auth: tuple[str, str] | None = None
) -> dict[int, str]:
    """Return all schemas of a subject in a schema registry, by their ids.

    - `url`: the address of a registry with the interface of Confluent's, such as `"https://registry:8081"`.
    - `subject`: most serializers use the topic with `-value`, such as `"clicks-value"`.
    - `kind`: `"avro"`, for `rows_of_kafka(…, "avro", avro_schema=…)`; or `"protobuf"`, for `rows_of_kafka(…,
      "protobuf", schema_ids=…)`, which takes the ids only.
    - `auth`: a user and a password.

    The registry is read now, once. A schema that is registered later is known after the next start.
    """
    if kind not in get_args(SchemaKind):
        raise TypeMismatch(
            f"`kind` must be one of {', '.join(get_args(SchemaKind))}; got {brief(kind)}"
        ).at_users_line()
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
        raise TypeMismatch(
            f"`url` must be the address of a schema registry; got {brief(url)}",
            instead=(('"http://registry:8081"', "for example"),),
        ).at_users_line()
    place = f"{url.rstrip('/')}/subjects/{quote(subject, safe='')}/versions"
    schemas: dict[int, str] = {}
    for version in _read(place, subject, url, auth):
        answer = _read(f"{place}/{version}", subject, url, auth)
        registered = answer.get("schemaType", "AVRO").lower()
        if registered != kind:
            raise TypeMismatch(
                f"version {version} of the subject `{subject}` is a schema of {registered}, not of {kind}",
                instead=((f'encoding="{registered}"', f"if the messages are {registered}"),)
                if registered in ("json", *get_args(SchemaKind))
                else (),
            ).at_users_line()
        if kind == "avro" and answer.get("references"):
            raise TypeMismatch(
                f"version {version} of the subject `{subject}` refers to other subjects, which Flo does not read",
                facts=(("refers to", ", ".join(each["subject"] for each in answer["references"])),),
                instead=(("avro_schema={id: schema}", "schemas with the types that they refer to inside"),),
            ).at_users_line()
        schemas[answer["id"]] = answer["schema"]
    return schemas


def _read(address: str, subject: str, url: str, auth: tuple[str, str] | None) -> Json:
    """The answer of the registry."""
    request = Request(f"{address}?deleted=true", headers={"Accept": "application/vnd.schemaregistry.v1+json"})
    if auth is not None:
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(auth).encode()).decode())
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code == NOT_FOUND:
            raise UnknownNameError(
                f"the schema registry {url} has no subject `{subject}`",
                instead=((f"{url.rstrip('/')}/subjects", "lists those that it has"),),
            ).at_users_line() from None
        if error.code in REFUSED:
            given = "`auth` is not given" if auth is None else f"`auth` has the user {auth[0]!r}"
            raise FloError(
                f"the schema registry {url} refuses to show the subject `{subject}`: {given}",
                instead=(('auth=("user", "password")', "of a user who may read it"),),
            ).at_users_line() from None
        raise UnreachableError(
            f"the schema registry {url} answers with the error {error.code}"
        ).at_users_line() from None
    except (URLError, OSError, HTTPException) as error:
        why = getattr(error, "reason", None) or error
        raise UnreachableError(f"the schema registry {url} cannot be reached: {why}").at_users_line() from None
    except ValueError:
        raise UnreachableError(f"{url} does not answer as a schema registry does: with JSON").at_users_line() from None
