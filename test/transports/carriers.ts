import { type AuthwireClient, type ConnectionOptions, createAuthwireClient, grpcTransport } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { createGrpcWebTransport } from "@connectrpc/connect-web"
import { pipelineTransport } from "../../client/src/pipeline/transport.js"
import { fetchTransport } from "../../client/src/transport/fetch.js"
import { fetchStream } from "../../client/src/transport/fetch-stream.js"

type Options = Omit<ConnectionOptions, "url" | "transport">
type Addresses = Pick<ServerProcess, "grpcUrl" | "httpUrl">

/** A transport that carries calls to the service. */
export interface Carrier {
  readonly name: string
  /** The name of the transport in the log. */
  readonly way: "grpc" | "http" | "pipeline"
  /** The transport of calls that cannot be part of a pipeline. */
  readonly ownWay: "grpc" | "http"
  /** Whether the calls are gRPC calls, with the rules of gRPC for headers. */
  readonly isGrpc: boolean
  connect(server: Addresses, options?: Options): AuthwireClient
  /** The transport without a client. */
  transport(server: Addresses): Transport & { close?(): void }
}

/** A separate call over gRPC. All other carriers are compared with it. */
export const unary: Carrier = grpc("unary gRPC", "grpc", "grpcUrl")

export const carriers: readonly Carrier[] = [
  pipeline("the pipeline", "grpc", "grpcUrl"),
  pipeline("the pipeline, through the HTTP listener", "http", "httpUrl"),
  unary,
  grpc("unary gRPC, through the HTTP listener", "http", "httpUrl"),
  {
    ...overHttp("Connect over fetch", ({ httpUrl: url }) => ({
      ...fetchTransport({ url }),
      stream: fetchStream({ url }),
    })),
    connect: ({ httpUrl }, options) => createEdgeClient({ ...options, url: httpUrl }),
  },
  overHttp("Connect over HTTP/1.1", ({ httpUrl }) =>
    createConnectTransport({ ...http1Options, baseUrl: httpUrl, useBinaryFormat: true }),
  ),
  overHttp("gRPC-Web", ({ httpUrl }) => createGrpcWebTransport({ baseUrl: httpUrl })),
]

function pipeline(name: string, ownWay: "grpc" | "http", address: keyof Addresses): Carrier {
  return {
    name,
    way: "pipeline",
    ownWay,
    isGrpc: true,
    connect: (server, options) => createAuthwireClient({ ...options, url: server[address] }),
    transport: (server) => pipelineTransport({ url: server[address] }),
  }
}

function grpc(name: string, way: "grpc" | "http", address: keyof Addresses): Carrier {
  return {
    name,
    way: way,
    ownWay: way,
    isGrpc: true,
    connect(server, options) {
      const transport = grpcTransport({ url: server[address] })
      return { ...createAuthwireClient({ ...options, url: server[address], transport }), close: transport.close }
    },
    transport: (server) => grpcTransport({ url: server[address] }),
  }
}

function overHttp(name: string, transport: Carrier["transport"]): Carrier {
  return {
    name,
    way: "http",
    ownWay: "http",
    isGrpc: false,
    connect: (server, options) =>
      createAuthwireClient({ ...options, url: server.httpUrl, transport: transport(server) }),
    transport,
  }
}
