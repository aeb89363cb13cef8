"""Finds the signed-in user of a request."""

from collections.abc import Sequence
from dataclasses import dataclass

from authwire.v1.introspection_service_pb2 import IntrospectRequest
from authwire.v1.token_service_pb2 import Header
from google.protobuf.json_format import MessageToDict

from .authwire import TIMEOUT, Authwire

Headers = Sequence[tuple[str, str]]
"""The unchanged headers of an HTTP request."""


@dataclass
class Identity:
    """The signed-in user and the kind of session."""

    user_id: str
    name: str | None
    email: str | None
    by: str


def who_is_signed_in(authwire: Authwire, headers: Headers, cookie: str) -> Identity | None:
    """Returns the user of a request, or None if the request has no valid session.

    It works for database sessions and JWT sessions. After a grpc.RpcError the result is unknown: an outage must never
    look like a sign-out.
    """
    wanted = [Header(name=name, value=value) for name, value in headers if name.lower() in ("cookie", "authorization")]
    answer = authwire.introspection.Introspect(IntrospectRequest(headers=wanted, cookie_name=cookie), timeout=TIMEOUT)
    if not answer.active:
        return None
    if answer.HasField("user"):
        user = answer.user
        name = user.name if user.HasField("name") else None
        email = user.email if user.HasField("email") else None
        return Identity(user.id, name, email, by="session")
    claims = MessageToDict(answer.claims)
    return Identity(answer.sub, claims.get("name"), claims.get("email"), by="jwt")
