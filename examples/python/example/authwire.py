"""The clients of the services, and the reason of a failed call."""

from pathlib import Path

import grpc
from authwire.v1.introspection_service_pb2_grpc import IntrospectionServiceStub
from authwire.v1.token_service_pb2_grpc import TokenServiceStub
from authwire.v1.user_service_pb2_grpc import UserServiceStub
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from grpc_status import rpc_status

TIMEOUT = 2.0
"""The timeout of a call in seconds. Without a deadline, a call could wait forever if the network does not respond."""


class ApiKey(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Sends an API key with every call."""

    def __init__(self, key: str) -> None:
        self.authorization = ("authorization", f"Bearer {key}")

    def intercept_unary_unary(self, continuation, details, request):  # type: ignore[no-untyped-def]
        """Adds the key to the metadata of a call."""
        metadata = [*(details.metadata or ()), self.authorization]
        return continuation(details._replace(metadata=metadata), request)


def channel_to(url: str, authorities: str | None = None) -> grpc.Channel:
    """Returns a channel with TLS for https://, and without TLS for http://.

    `authorities` is a file of certificate authorities (PEM) to trust instead of gRPC's own.
    """
    scheme, _, address = url.partition("://")
    if scheme != "https":
        return grpc.insecure_channel(address)
    roots = Path(authorities).read_bytes() if authorities else None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(root_certificates=roots))


class Authwire:
    """The clients of the services, which share one connection. They are thread-safe."""

    def __init__(self, channel: grpc.Channel, key: str | None = None) -> None:
        if key:
            channel = grpc.intercept_channel(channel, ApiKey(key))
        self.tokens = TokenServiceStub(channel)
        self.introspection = IntrospectionServiceStub(channel)
        self.users = UserServiceStub(channel)


def reason(error: grpc.RpcError) -> str | None:
    """Returns why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix.

    None if the service did not give a reason. In that case use the status code.
    """
    assert isinstance(error, grpc.Call)  # as every error of a stub is
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = ErrorInfo()
        if detail.Unpack(info) and info.domain == "authwire":
            return str(info.reason)
    return None
