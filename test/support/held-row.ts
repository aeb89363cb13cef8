import type { Authwire } from "./authwire.js"

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
  const name = new URL(database.url).pathname.slice(1)
  const statements = async () => {
    const processes = await database.query("SHOW PROCESSLIST")
    return processes.filter(({ db, Info }) => db === name && Info !== null && !/^SHOW/i.test(String(Info)))
  }
  const until = async (condition: (count: number) => boolean) => {
    const end = performance.now() + 20_000
    for (;;) {
      const running = await statements()
      if (condition(running.length)) return
      if (performance.now() > end) throw new Error(`the database still has ${JSON.stringify(running)}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  // Not by a lock of the row: a change that meets one waits in the service, where nobody sees it.
  await database.query(
    `CREATE TRIGGER IF NOT EXISTS held BEFORE UPDATE ON users FOR EACH ROW
     SET NEW.id = IF(GET_LOCK(DATABASE(), 60) = 1 AND RELEASE_LOCK(DATABASE()), NEW.id, NULL)`,
  )
  const release = async () => void (await database.query("DO RELEASE_LOCK(DATABASE())"))
  await database.query("DO GET_LOCK(DATABASE(), 60)")
  try {
    await work({ request: requests[0], requests, waiting: (count) => until((found) => found >= count), release })
  } finally {
    await release()
    // What was given up has let go.
    await until((found) => found === 0)
  }
}
