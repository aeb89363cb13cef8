import { clientOver } from "../../../client/src/client.js"
import { type PipelineTransportOptions, pipelineTransport } from "../../../client/src/pipeline/transport.js"
import { type ConnectionOptions, headersOf } from "../../../client/src/transport/options.js"
import { type ServerProcess, startServer } from "../processes/server.js"

/**
 * Returns the same as createAuthwireClient, with the additional options of the transport. It is loaded from the source,
 * so errors of its adapter are identified by their `code`.
 */
export function pipelineClient(options: ConnectionOptions & Omit<PipelineTransportOptions, "header">) {
  const header = headersOf(options)
  const transport = pipelineTransport({ ...options, header })
  return { ...clientOver({ transport, address: "the service" }, options), close: transport.close }
}

export type PipelineClient = ReturnType<typeof pipelineClient>

/** How a call ended: "OK", or the code of its error. */
export function outcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "OK",
    (error) => String(error.code ?? error),
  )
}

/** Counts each outcome. */
export function tally(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const one of outcomes) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

/**
 * Servers on one database. Each has its own address, and all have the same port. One host name resolves to all of them.
 */
export interface Replicas {
  readonly hosts: readonly string[]
  /** A URL with a host name that only `resolve` can resolve, and that `--dev` accepts. */
  readonly url: string
  readonly port: number
  resolve(): Promise<readonly string[]>
  server(index: number): ServerProcess
  /** Stops a server with SIGTERM, checks its exit code, and starts it again at the same address. */
  restart(index: number): Promise<void>
  stop(): Promise<void>
}

/** Uses addresses on which no other process listens, so that the ports are still free at a restart. */
export async function startReplicas(databaseUrls: readonly string[], args: string[] = []): Promise<Replicas> {
  const hosts = databaseUrls.map((_, index) => `127.0.0.${index + 11}`)
  const servers: ServerProcess[] = []
  let port = 0
  const start = async (index: number) => {
    const databaseUrl = databaseUrls[index] as string
    servers[index] = await startServer({ databaseUrl, args: [`--grpc-addr=${hosts[index]}:${port}`, ...args] })
    port = Number(new URL(servers[index].grpcUrl).port)
  }
  for (const index of databaseUrls.keys()) await start(index)
  return {
    hosts,
    url: `dns:///authwire.localhost:${port}`,
    port,
    resolve: async () => hosts,
    server: (index) => servers[index] as ServerProcess,
    async restart(index) {
      const code = await servers[index]?.stop("SIGTERM")
      if (code !== 0) throw new Error(`the server ended with ${code}`)
      await start(index)
    },
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}
