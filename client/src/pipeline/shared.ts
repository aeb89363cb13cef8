import { Code, ConnectError } from "@connectrpc/connect"
import type { GrpcTransport } from "../transport/grpc.js"
import { shared } from "../transport/shared.js"
import { type PipelineTransportOptions, pipelineTarget, pipelineTransport } from "./transport.js"

/** The options that decide which connection is used. */
export type SharedTransportOptions = Required<Pick<PipelineTransportOptions, "header">> &
  Pick<PipelineTransportOptions, "url" | "tls" | "connections">

/**
 * Creates a transport over the pipelines that all clients of this process with equal options share.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function sharedTransport(options: SharedTransportOptions): GrpcTransport {
  const pipelines = shared({
    kind: "connection",
    connection: options,
    settings: [options.connections],
    open: () => pipelineTransport(options),
  })
  // The first call opens the transport. Its options are checked now.
  if (pipelines.opened === undefined) pipelineTarget(options)

  function opened(): GrpcTransport {
    if (pipelines.hasLeft) throw new ConnectError("the client is closed", Code.FailedPrecondition)
    return pipelines.use()
  }

  return {
    // Not an async function, which would add a promise to every call.
    unary(...call) {
      try {
        return opened().unary(...call)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    stream: async (...call) => opened().stream(...call),
    close: pipelines.leave,
  }
}
