"""The clients of the services that the example uses, and why a call failed."""

from pathlib import Path

import grpc
from authwire.v1.introspection_service_pb2_grpc import IntrospectionServiceStub
from authwire.v1.token_service_pb2_grpc import TokenServiceStub
from authwire.v1.user_service_pb2_grpc import UserServiceStub
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from grpc_status import rpc_status

TIMEOUT = 2.0
"""How long a call may take, in seconds. One without a deadline waits for as long as a silent network lets it."""


class ApiKey(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Sends an API key with every call."""

    def __init__(self, key: str) -> None:
        self.authorization = ("authorization", f"Bearer {key}")

    def intercept_unary_unary(self, continuation, details, request):  # type: ignore[no-untyped-def]
        """Adds the key to the metadata of a call."""
        metadata = [*(details.metadata or ()), self.authorization]
        return continuation(details._replace(metadata=metadata), request)


def channel_to(url: str, authorities: str | None = None) -> grpc.Channel:
    """A channel with TLS for https://, without for http://.

    `authorities` is a file of authorities (PEM) to trust in place of gRPC's own.
    """
    scheme, _, address = url.partition("://")
    if scheme != "https":
        return grpc.insecure_channel(address)
    roots = Path(authorities).read_bytes() if authorities else None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(root_certificates=roots))


class Authwire:
    """Clients of the services, over one connection, for any number of threads."""

    def __init__(self, channel: grpc.Channel, key: str | None = None) -> None:
        if key:
            channel = grpc.intercept_channel(channel, ApiKey(key))
        self.tokens = TokenServiceStub(channel)
        self.introspection = IntrospectionServiceStub(channel)
        self.users = UserServiceStub(channel)


def reason(error: grpc.RpcError) -> str | None:
    """Why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix.

    None if that was not a decision of the service: then the status code says what is known.
    """
    assert isinstance(error, grpc.Call)  # as every error of a stub is
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = ErrorInfo()
        if detail.Unpack(info) and info.domain == "authwire":
            return str(info.reason)
    return None
