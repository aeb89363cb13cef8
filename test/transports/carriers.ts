import { type AuthwireClient, type ConnectionOptions, createAuthwireClient, grpcTransport } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { createGrpcWebTransport } from "@connectrpc/connect-web"
import { pipelineTransport } from "../../client/src/pipeline/transport.js"
import { fetchTransport } from "../../client/src/transport/fetch.js"
import { http1Options } from "../support/http1.js"
import type { ServerProcess } from "../support/server.js"

type Options = Omit<ConnectionOptions, "url" | "transport">
type Doors = Pick<ServerProcess, "grpcUrl" | "httpUrl">

/** One way to carry calls to the service. */
export interface Carrier {
  readonly name: string
  /** What the log calls the way in. */
  readonly door: "grpc" | "http" | "pipeline"
  /** The way in of the calls that go by themselves. */
  readonly doorAlone: "grpc" | "http"
  /** Whether the calls are gRPC's, so that their headers are. */
  readonly isGrpc: boolean
  readonly hasStreams: boolean
  connect(server: Doors, options?: Options): AuthwireClient
  /** The transport by itself. */
  transport(server: Doors): Transport & { close?(): void }
}

/** A call of its own over gRPC: what every other way has to be like. */
export const unary: Carrier = grpc("unary gRPC", "grpc", "grpcUrl")

export const carriers: readonly Carrier[] = [
  pipeline("the pipeline", "grpc", "grpcUrl"),
  pipeline("the pipeline, through the HTTP door", "http", "httpUrl"),
  unary,
  grpc("unary gRPC, through the HTTP door", "http", "httpUrl"),
  {
    ...overHttp("Connect over fetch", ({ httpUrl }) => fetchTransport({ url: httpUrl })),
    connect: ({ httpUrl }, options) => createEdgeClient({ ...options, url: httpUrl }),
  },
  overHttp("Connect over HTTP/1.1", ({ httpUrl }) =>
    createConnectTransport({ ...http1Options, baseUrl: httpUrl, useBinaryFormat: true }),
  ),
  overHttp("gRPC-Web", ({ httpUrl }) => createGrpcWebTransport({ baseUrl: httpUrl })),
]

function pipeline(name: string, doorAlone: "grpc" | "http", door: keyof Doors): Carrier {
  return {
    name,
    door: "pipeline",
    doorAlone,
    isGrpc: true,
    hasStreams: false,
    connect: (server, options) => createAuthwireClient({ ...options, url: server[door] }),
    transport: (server) => pipelineTransport({ url: server[door] }),
  }
}

function grpc(name: string, way: "grpc" | "http", door: keyof Doors): Carrier {
  return {
    name,
    door: way,
    doorAlone: way,
    isGrpc: true,
    hasStreams: false,
    connect(server, options) {
      const transport = grpcTransport({ url: server[door] })
      return { ...createAuthwireClient({ ...options, url: server[door], transport }), close: transport.close }
    },
    transport: (server) => grpcTransport({ url: server[door] }),
  }
}

function overHttp(name: string, transport: Carrier["transport"]): Carrier {
  return {
    name,
    door: "http",
    doorAlone: "http",
    isGrpc: false,
    hasStreams: true,
    connect: (server, options) =>
      createAuthwireClient({ ...options, url: server.httpUrl, transport: transport(server) }),
    transport,
  }
}
