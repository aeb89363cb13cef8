import { fork } from "node:child_process"
import { once } from "node:events"
import { freePort, inspectOn, openInspector } from "../servers/inspector.ts"
import { startAuthwire } from "../servers/processes.ts"
import type { Stage } from "./stage.ts"

/** What idle clients cost the server. */
export interface MemoryFigure {
  connections: number
  /** Of the pipeline, over all connections. */
  streams: number
  /** Bytes, after a collection. */
  rss: number
  heapUsed: number
  /** Beyond what the server has with nobody connected, for each stream. */
  bytesPerStream: number
}

/**
 * The memory of a server with so many idle streams: one to a connection, as clients have them by default, and many to a
 * connection. A new server for each, because memory is not given back at once.
 */
export async function measureMemory(stage: Stage, users: number, counts: readonly number[]): Promise<MemoryFigure[]> {
  const database = await stage.database("authwire", users)
  const figures: MemoryFigure[] = []
  for (const count of counts) {
    for (const connections of count === 1 ? [1] : [count, sharedBy(count)]) {
      figures.push(await measure(database.url, connections, count))
    }
    stage.say(`measured the memory of ${count} streams`)
  }
  return figures
}

/** Streams that share a connection, beside those that have their own. */
const sharedBy = (streams: number) => Math.ceil(streams / 100)

async function measure(databaseUrl: string, connections: number, streams: number): Promise<MemoryFigure> {
  const port = await freePort()
  const server = await startAuthwire(databaseUrl, { nodeArgs: inspectOn(port) })
  const inspector = await openInspector(port)
  try {
    const before = await inspector.memory()
    const clients = fork(
      new URL("../load/idle-streams.ts", import.meta.url),
      [server.places.grpcUrl ?? "", String(connections), String(streams)],
      { execArgv: [] },
    )
    const [opened] = await Promise.race([once(clients, "message"), once(clients, "exit")])
    if (opened !== "open") throw new Error(`the idle streams did not open: ${opened}`)
    const after = await inspector.memory()
    clients.kill()
    await once(clients, "exit")
    return {
      connections,
      streams,
      rss: after.rss,
      heapUsed: after.heapUsed,
      bytesPerStream: Math.round((after.rss - before.rss) / streams),
    }
  } finally {
    inspector.close()
    await server.stop()
  }
}
