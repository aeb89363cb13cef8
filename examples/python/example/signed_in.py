"""Who is signed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import grpc
from authwire.v1.session_service_pb2 import GetSessionAndUserRequest
from authwire.v1.token_service_pb2 import GetTokenRequest, Header
from google.protobuf.json_format import MessageToDict

from .authwire import TIMEOUT, Authwire, reason

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

    After a grpc.RpcError it is not known: an outage must never look like a sign-out. An application has one kind of
    session, and needs one of the two halves.
    """
    return by_jwt(authwire, headers, cookie) or by_session(authwire, headers, cookie)


def by_jwt(authwire: Authwire, headers: Headers, cookie: str) -> Identity | None:
    """Asks for the claims of the token that the cookie holds, whole or in chunks, or else `Authorization: Bearer`."""
    wanted = [Header(name=name, value=value) for name, value in headers if name.lower() in ("cookie", "authorization")]
    answer = authwire.tokens.GetToken(GetTokenRequest(headers=wanted, cookie_name=cookie), timeout=TIMEOUT)
    if not answer.HasField("payload"):
        return None
    claims = MessageToDict(answer.payload)
    return Identity(claims.get("sub", ""), claims.get("name"), claims.get("email"), by="jwt")


def by_session(authwire: Authwire, headers: Headers, cookie: str) -> Identity | None:
    """Asks for the session in the database that the cookie names, and for its user."""
    token = cookie_value(headers, cookie)
    if not token:
        return None
    try:
        answer = authwire.sessions.GetSessionAndUser(GetSessionAndUserRequest(session_token=token), timeout=TIMEOUT)
    except grpc.RpcError as error:
        if reason(error) in ("SESSION_NOT_FOUND", "INVALID_FIELD"):  # no session has such a token, or can have
            return None
        raise
    user = answer.user
    name = user.name if user.HasField("name") else None
    email = user.email if user.HasField("email") else None
    return Identity(user.id, name, email, by="session")


def cookie_value(headers: Headers, cookie: str) -> str | None:
    """The value of a cookie. (http.cookies would drop every cookie behind a malformed one.)"""
    for pair in "; ".join(value for name, value in headers if name.lower() == "cookie").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == cookie:
            return unquote(value)
    return None
