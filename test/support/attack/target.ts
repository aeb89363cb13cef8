import { residentBytes } from "../../../bench/load/cpu.ts"
import { createDatabase } from "../databases/databases.js"
import { type Heap, heapTold, openHeap } from "../machine/heap.js"
import { type ServerProcess, startServer, staticKey } from "../processes/server.js"

/** The listeners, for `test.each`. */
export const listeners = ["grpc", "http"] as const

export type Listener = (typeof listeners)[number]

/** A service as in production, where every call requires an API key. */
export interface Target {
  readonly server: ServerProcess
  /** A key with every scope, and a key that may only read sessions. */
  readonly keys: { readonly all: string; readonly sessions: string }
  url(listener: Listener): string
  /** The resident memory of the process, in bytes. */
  residentBytes(): number
  /** The memory that the process uses after a garbage collection, including buffers, in bytes. Requires `tellsHeap`. */
  heldBytes(): Promise<number>
  /**
   * The memory of its buffers, including unreachable ones that are not collected yet, in bytes. Requires `tellsHeap`.
   */
  bufferBytes(): Promise<number>
  close(): Promise<void>
}

/** A user with an image of the maximum size. */
export const large = { id: "large", image: "x".repeat(256 * 1024) }

export interface TargetOptions {
  readonly args?: string[]
  /** A command with arguments that runs the service. */
  readonly prefix?: readonly string[]
  /** Whether `heldBytes` can read its heap. Its log then has lines of Node's inspector too. */
  readonly tellsHeap?: boolean
}

/** Starts the service on an empty embedded database, with the user `large`. */
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
