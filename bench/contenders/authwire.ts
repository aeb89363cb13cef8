import { createAuthwireClient, grpcTransport } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { apiKey } from "../servers/key.ts"
import { type Contender, type Endpoints, required } from "./contender.ts"

/** The client with its default options. */
export function authwirePipeline({ grpcUrl }: Endpoints): Contender {
  const client = createAuthwireClient({ url: required(grpcUrl), apiKey })
  return { adapter: client.adapter, client, close: async () => client.close() }
}

/** The client with one gRPC call for each call of the adapter. */
export function authwireUnary({ grpcUrl }: Endpoints): Contender {
  const url = required(grpcUrl)
  const transport = grpcTransport({ url })
  const client = createAuthwireClient({ url, apiKey, transport })
  return { adapter: client.adapter, client, close: async () => transport.close() }
}

/** The client for edge runtimes: Connect over fetch with HTTP/1.1. */
export function authwireConnect({ httpUrl }: Endpoints): Contender {
  const client = createEdgeClient({ url: required(httpUrl), apiKey })
  return { adapter: client.adapter, client, close: async () => client.close() }
}
