"""Access rights through groups: who may read what, when groups are members of groups?

    python -m examples.access_rights

    ann ─── developers ─── staff ─── may read handbook
    bob ─── admins ─────── developers ─── may read code

A user is in a group that has the user as a member, or that has one of the user's groups as a member. Groups may contain
each other. A right that is granted to a group, and not denied to the user, is a right of the user. When somebody leaves
a group, exactly the rights that had no other path are revoked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flo


class User(NamedTuple):
    name: str


class Member(NamedTuple):
    name: str
    group: str


class Right(NamedTuple):
    name: str
    document: str


USERS = [User("ann"), User("bob"), User("cyd")]
MEMBERS = [
    Member("ann", "developers"),
    Member("bob", "admins"),
    Member("cyd", "staff"),
    Member("developers", "staff"),
    Member("admins", "developers"),
    Member("staff", "everybody"),
    Member("everybody", "staff"),  # a cycle: each is a member of the other
]
GRANTS = [
    Right("staff", "handbook"),
    Right("developers", "code"),
    Right("admins", "passwords"),
    Right("everybody", "menu"),
]
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as of today", {"users": USERS, "members": MEMBERS, "grants": GRANTS}),
    ("bob is no longer an admin", {"members": {Member("bob", "admins"): -1}}),
    ("the code is denied to ann", {"denied": [Right("ann", "code")]}),
    ("cyd becomes an admin", {"members": [Member("cyd", "admins")]}),
    ("developers are no longer staff", {"members": {Member("developers", "staff"): -1}}),
)


def access_rights() -> flo.Flow:
    flow = flo.Flow("access rights")
    users = flow.input("users", flo.ZSet[User])
    members = flow.input("members", flo.ZSet[Member])
    grants = flow.input("grants", flo.ZSet[Right])
    denied = flow.input("denied", flo.ZSet[Right])

    def through(inside: Any, members: Any) -> Any:
        return members.union(inside.join(members, on="group", other_on="name").select(name="name", group="group_right"))

    inside = members.fixpoint(through)
    granted = inside.join(grants, on="group", other_on="name").select(name="name", document="document").distinct()
    of_users = granted.join(users, on="name", how="semi")
    flow.output("may", of_users.join(denied, on=["name", "document"], how="anti"))
    return flow


def main() -> None:
    flow = access_rights()
    flow.draw().save("access_rights.svg")
    loop = flow.on(flo.here).loop()
    for what, changes in CHANGES:
        loop.push(**changes)
        print(what)
        for name, document, weight in sorted(tuple(row.values()) for row in loop.pull("may").to_pylist()):
            print(f"  {name} {'may' if weight > 0 else 'may no longer'} read {document}")
    print("the program as a picture: access_rights.svg")


if __name__ == "__main__":
    main()
