"""The commands: `python -m example decode|serve|user|vectors`."""

import argparse
import json
import os
import sys

import grpc
from authwire.v1.token_service_pb2 import DecodeRequest
from authwire.v1.user_service_pb2 import CreateUserRequest, GetUserByEmailRequest
from google.protobuf.json_format import MessageToDict

from .authwire import TIMEOUT, Authwire, channel_to, reason
from .serve import serve
from .vectors import run_vectors


def decode(authwire: Authwire, token: str, cookie: str) -> None:
    """Prints the claims of a token. Auth.js uses the name of the cookie as the salt."""
    try:
        answer = authwire.tokens.Decode(DecodeRequest(token=token, salt=cookie), timeout=TIMEOUT)
    except grpc.RpcError as error:
        match reason(error):
            case "TOKEN_EXPIRED":
                sys.exit("example: the token has expired")
            case "TOKEN_MALFORMED" | "TOKEN_ALGORITHM_NOT_ALLOWED" | "NO_MATCHING_SECRET" as why:
                sys.exit(f"example: this is not a token of ours ({why})")
        raise
    print(json.dumps(MessageToDict(answer.payload)))


def user(authwire: Authwire, email: str) -> None:
    """Creates a user with an e-mail address and reads it back. If the address is taken, it reads the existing user."""
    created = True
    try:
        authwire.users.CreateUser(CreateUserRequest(email=email), timeout=TIMEOUT)
    except grpc.RpcError as error:
        if reason(error) != "EMAIL_ALREADY_EXISTS":
            raise
        created = False
    found = authwire.users.GetUserByEmail(GetUserByEmailRequest(email=email), timeout=TIMEOUT).user
    name = found.name if found.HasField("name") else None
    print(json.dumps({"userId": found.id, "name": name, "email": found.email, "created": created}))


EPILOG = """
AUTHWIRE_URL: where Authwire is; default http://127.0.0.1:50051. With https:// it speaks TLS.
AUTHWIRE_API_KEY: its API key.
AUTHWIRE_TLS_CA: a file of authorities (PEM) to trust in place of gRPC's own.
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="example", epilog=EPILOG)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("decode", help="what a token says")
    command.add_argument("--cookie", default="authjs.session-token", help="name of the session cookie")
    command.add_argument("token")
    command = commands.add_parser("serve", help="answer GET /me with who is signed in")
    command.add_argument("--cookie", default="authjs.session-token", help="name of the session cookie")
    command.add_argument("--listen", default="127.0.0.1:8092", metavar="ADDRESS")
    command = commands.add_parser("user", help="create a user, or find the one with this address")
    command.add_argument("email")
    command = commands.add_parser("vectors", help="run the test vectors of token/vectors.json")
    command.add_argument("file")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    url = os.environ.get("AUTHWIRE_URL", "http://127.0.0.1:50051")
    with channel_to(url, os.environ.get("AUTHWIRE_TLS_CA")) as channel:
        authwire = Authwire(channel, os.environ.get("AUTHWIRE_API_KEY"))
        try:
            match args.command:
                case "decode":
                    decode(authwire, args.token, args.cookie)
                case "serve":
                    serve(authwire, args.listen, args.cookie)
                case "user":
                    user(authwire, args.email)
                case "vectors":
                    sys.exit(run_vectors(authwire, args.file))
        except grpc.RpcError as error:
            sys.exit(f"example: {error.code().name}: {error.details()}")


if __name__ == "__main__":
    main()
