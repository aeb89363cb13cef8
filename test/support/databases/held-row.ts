import type { Authwire } from "../processes/authwire.js"
import { activeStatements, barrier } from "./server-sql.js"

interface UpdateRequest {
  id: string
  name: string
  updateMask: { paths: string[] }
}

/** Users whose changes take as long as the test wants. Not on SQLite, where nothing takes long. */
export interface HeldRow {
  /** What UpdateUser waits with. */
  readonly request: UpdateRequest
  /** The same for users of their own: changes of one user wait for each other before they come to the database. */
  readonly requests: readonly [UpdateRequest, UpdateRequest, UpdateRequest]
  /** Resolves when so many calls wait in the database. */
  waiting(count: number): Promise<void>
  /** Lets them go on. */
  release(): Promise<void>
}

/** Holds changes of three new users while `work` runs, or until they are released. */
export async function withHeldRow(authwire: Authwire, work: (row: HeldRow) => Promise<void>): Promise<void> {
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
    // What was given up has let go.
    await until((found) => found === 0)
  }
}
