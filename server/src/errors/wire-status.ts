import { type Status, StatusSchema } from "@authwire/proto/rpc/status"
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"

/** Converts an error to a gRPC status. Only a ConnectError is for the caller; any other becomes an internal error. */
export function wireStatus(error: unknown): Status {
  const failure = error instanceof ConnectError ? error : new ConnectError("internal error", Code.Internal)
  return create(StatusSchema, {
    code: failure.code,
    message: failure.rawMessage,
    details: failure.details.flatMap((detail) =>
      "desc" in detail ? [anyPack(detail.desc, create(detail.desc, detail.value))] : [],
    ),
  })
}
