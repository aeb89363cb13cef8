"""Who is signed in."""

from collections.abc import Sequence
from dataclasses import dataclass

from authwire.v1.introspection_service_pb2 import IntrospectRequest
from authwire.v1.token_service_pb2 import Header
from google.protobuf.json_format import MessageToDict

from .authwire import TIMEOUT, Authwire

Headers = Sequence[tuple[str, str]]
"""The headers of an HTTP request, as they are."""


@dataclass
class Identity:
    """Who is signed in, and by which kind of session."""

    user_id: str
    name: str | None
    email: str | None
    by: str


def who_is_signed_in(authwire: Authwire, headers: Headers, cookie: str) -> Identity | None:
    """Finds the user of a request, None if nobody is signed in.

    It is the same whether the application keeps its sessions in the database or in JWTs. After a grpc.RpcError it is not
    known: an outage must never look like a sign-out.
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
