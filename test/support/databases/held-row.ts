import type { Authwire } from "../processes/authwire.js"
import { activeStatements, barrier } from "./server-sql.js"

interface UpdateRequest {
  id: string
  name: string
  updateMask: { paths: string[] }
}

/** Users whose updates block until the test releases them. Not available on SQLite, where updates do not block. */
export interface HeldRow {
  /** The request of an UpdateUser call that blocks. */
  readonly request: UpdateRequest
  /**
   * Such requests for different users, because the service queues updates of one user before they reach the database.
   */
  readonly requests: readonly [UpdateRequest, UpdateRequest, UpdateRequest]
  /** Resolves when this many calls are blocked in the database. */
  waiting(count: number): Promise<void>
  /** Unblocks them. */
  release(): Promise<void>
}

/** Blocks updates of three new users while `work` runs, or until they are released. */
export async function withHeldRow(
  authwire: Pick<Authwire, "database" | "adapter">,
  work: (row: HeldRow) => Promise<void>,
): Promise<void> {
  const { database, adapter } = authwire
  const user = async () => {
    const { id } = await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
    return { id, name: "x", updateMask: { paths: ["name"] } }
  }
  const requests = [await user(), await user(), await user()] as const
  const until = async (condition: (count: number) => boolean) => {
    const end = performance.now() + 20_000
    for (;;) {
      const running = await activeStatements(database)
      if (condition(running.length)) return
      if (performance.now() > end) throw new Error(`the database still has ${JSON.stringify(running)}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const { stopUpdates, close, open } = await barrier(database)
  await stopUpdates()
  await close()
  const release = async () => void (await open())
  try {
    await work({ request: requests[0], requests, waiting: (count) => until((found) => found >= count), release })
  } finally {
    await release()
    // Waits until cancelled calls have released their locks.
    await until((found) => found === 0)
  }
}
