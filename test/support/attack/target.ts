import { residentBytes } from "../../../bench/load/cpu.ts"
import { createDatabase } from "../databases/databases.js"
import { type Heap, heapTold, openHeap } from "../machine/heap.js"
import { type ServerProcess, startServer, staticKey } from "../processes/server.js"

/** The listeners, for `test.each`. */
export const listeners = ["grpc", "http"] as const

export type Listener = (typeof listeners)[number]

/** A service as in production, where every call needs a key. */
export interface Target {
  readonly server: ServerProcess
  /** A key with every scope, and one that may only read sessions. */
  readonly keys: { readonly all: string; readonly sessions: string }
  url(listener: Listener): string
  /** The memory of the process that is in RAM, in bytes. */
  residentBytes(): number
  /** What the process holds when all garbage was collected, buffers included, in bytes. Only of one that tells its heap. */
  heldBytes(): Promise<number>
  /** What its buffers take, also those that nobody needs any more, in bytes. The same holds. */
  bufferBytes(): Promise<number>
  close(): Promise<void>
}

/** A user with the largest image. */
export const large = { id: "large", image: "x".repeat(256 * 1024) }

export interface TargetOptions {
  readonly args?: string[]
  /** A command that runs the service. */
  readonly prefix?: readonly string[]
  /** Whether it tells its heap, for `heldBytes`. Its log then has lines of Node's inspector too. */
  readonly tellsHeap?: boolean
}

/** Starts it on an empty embedded database, with the user `large`. */
export async function startTarget({ args = [], prefix = [], tellsHeap = false }: TargetOptions = {}): Promise<Target> {
  const database = await createDatabase("sqlite")
  const [all, sessions] = [staticKey(["all"]), staticKey(["sessions:read"])]
  const env = { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, sessions.entry]), ...(tellsHeap ? heapTold : {}) }
  const server = await startServer({ databaseUrl: database.url, keys: false, args, env, prefix })
  const created = await fetch(`${server.httpUrl}/authwire.v1.UserService/CreateUser`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${all.text}` },
    body: JSON.stringify(large),
  })
  if (!created.ok) throw new Error(`no user: ${await created.text()}`)
  let opened: Promise<Heap> | undefined
  const heap = () => {
    opened ??= openHeap(server)
    return opened
  }
  return {
    server,
    keys: { all: all.text, sessions: sessions.text },
    url: (listener) => (listener === "grpc" ? server.grpcUrl : server.httpUrl),
    residentBytes: () => residentBytes(server.pid) ?? 0,
    heldBytes: async () => (await heap()).usedBytes(),
    bufferBytes: async () => (await heap()).bufferBytes(),
    async close() {
      if (opened !== undefined) (await opened).close()
      await server.stop("SIGKILL")
      await database.drop()
    },
  }
}
