import type { Authwire } from "./authwire.js"

/** A user whose row another connection has locked. Not on SQLite, where nothing waits. */
export interface HeldRow {
  /** What UpdateUser waits with. */
  readonly request: { id: string; name: string; updateMask: { paths: string[] } }
  /** Resolves when so many calls wait in the database. */
  waiting(count: number): Promise<void>
  /** Lets them go on. */
  release(): Promise<void>
}

/** Holds the row of a new user while `work` runs, or until it is released. */
export async function withHeldRow(authwire: Authwire, work: (row: HeldRow) => Promise<void>): Promise<void> {
  const { database, adapter } = authwire
  const { id } = await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
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
  const release = async () => void (await database.query("ROLLBACK"))
  await database.query("BEGIN")
  await database.query("SELECT id FROM users WHERE id = ? FOR UPDATE", [id])
  try {
    await work({
      request: { id, name: "x", updateMask: { paths: ["name"] } },
      waiting: (count) => until((found) => found >= count),
      release,
    })
  } finally {
    await release()
    // What was given up has let go.
    await until((found) => found === 0)
  }
}
