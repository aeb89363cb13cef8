"""Sends the test vectors of token/vectors.json, which @auth/core created, to the service."""

import json
from typing import Any

import grpc
from authwire.v1.token_service_pb2 import DecodeRequest, GetTokenRequest, Header
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from .authwire import TIMEOUT, Authwire, reason


def run_vectors(authwire: Authwire, path: str) -> int:
    """Prints the failures and counts, and returns the exit status. Skips the vectors that need a frozen clock."""
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    passed = failed = left_out = 0
    for kind, run in (("valid", valid), ("refused", refused), ("requests", request)):
        for vector in vectors[kind]:
            if vector.get("clock") == "frozen":
                left_out += 1
                continue
            expected = vector["code"] if kind == "refused" else vector["payload"]
            got = run(authwire, vector)
            # Compared as messages, because in Python 1 equals True.
            if ParseDict(got, Value()) == ParseDict(expected, Value()):
                passed += 1
            else:
                failed += 1
                print(f"failed: {vector['name']}: got {got!r}, want {expected!r}")
    print(f"{passed} passed, {failed} failed, {left_out} left out")
    return 1 if failed else 0


def valid(authwire: Authwire, vector: dict[str, Any]) -> Any:
    try:
        return MessageToDict(decode(authwire, vector))
    except grpc.RpcError as error:
        return f"error: {reason(error)}"


def refused(authwire: Authwire, vector: dict[str, Any]) -> Any:
    try:
        return MessageToDict(decode(authwire, vector))
    except grpc.RpcError as error:
        return reason(error)


def decode(authwire: Authwire, vector: dict[str, Any]) -> Any:
    wanted = DecodeRequest(token=vector["token"], salt=vector["salt"], secrets=vector["secrets"])
    return authwire.tokens.Decode(wanted, timeout=TIMEOUT).payload


def request(authwire: Authwire, vector: dict[str, Any]) -> Any:
    wanted = GetTokenRequest(
        headers=[Header(name=name, value=value) for name, value in vector["headers"]],
        cookie_name=vector.get("cookieName"),
        secure_cookie=vector.get("secureCookie"),
        salt=vector.get("salt"),
        secrets=vector["secrets"],
        raw=vector.get("raw", False),
    )
    try:
        answer = authwire.tokens.GetToken(wanted, timeout=TIMEOUT)
    except grpc.RpcError as error:
        return f"error: {reason(error)}"
    match answer.WhichOneof("result"):
        case "payload":
            return MessageToDict(answer.payload)
        case "raw":
            return answer.raw
    return None
