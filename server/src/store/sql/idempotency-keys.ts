import { hash } from "node:crypto"
import { StoreError, type StoreErrorReason } from "../error.js"
import type { Store } from "../store.js"
import type { Cipher } from "./cipher.js"
import type { Database } from "./database.js"
import { failsBy } from "./engine/statement-error.js"

/** After these nobody knows what is stored. */
const unknown: ReadonlySet<StoreErrorReason> = new Set([
  "CONFLICT",
  "DATABASE_UNAVAILABLE",
  "STATEMENT_TIMEOUT",
  "QUEUE_FULL",
])

/**
 * Writes that come again with the same key.
 *
 * The work runs first and its key is inserted last, in one transaction: beside that, a write pays for no read. Work
 * that was done before either fails, or its key is a duplicate and all is undone; then the answer is read that is kept.
 * Nobody waits for a row while it has a key, so keys never close a circle of transactions that wait for each other.
 *
 * An answer may hold the token of a session, of which the database has the hash alone. So it is sealed with a key that is
 * derived from the idempotency key too, and that is nowhere but with the caller: whoever has the table and the encryption
 * keys reads no answer.
 *
 * @param cipher seals the answers.
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 */
export function idempotencyStore(database: Database, cipher: Cipher, clock: () => number): Pick<Store, "once"> {
  const { idempotencyKeys } = database.tables

  return {
    async once(caller, { owner, key, digest }, work) {
      const name = JSON.stringify([owner, key])
      const keyHash = hash("sha256", name, "buffer")
      const row = { tenant: caller.tenant, keyHash }
      const place = [caller.tenant, keyHash.toString("hex")]

      const firstTime = () =>
        database.together(caller, [idempotencyKeys.nameOf(row)], async (unit) => {
          const bytes = await work(unit)
          const answer = cipher.seal(`${digest()} ${Buffer.from(bytes).toString("base64")}`, place, name)
          await unit.changeLast(idempotencyKeys.inserted({ ...row, answer, created: new Date(clock()) }))
          return bytes
        })

      const kept = async (): Promise<Uint8Array | undefined> => {
        const rows = await database.statements(caller, (sql) => sql.read(idempotencyKeys.byKey, row))
        const found = idempotencyKeys.first(rows)
        if (found === null) return undefined
        const opened = cipher.open(found.answer, place, name)
        // What was never sealed is not of this service: whoever can write the table must not make up answers.
        if (opened === found.answer) throw new StoreError("ENCRYPTION_KEY_MISSING", "a stored answer is not sealed")
        const [digestThen, answer = ""] = opened.split(" ", 2)
        if (digestThen === digest()) return Buffer.from(answer, "base64")
        throw new StoreError("IDEMPOTENCY_KEY_REUSED", "the idempotency key was used for another request")
      }

      for (;;) {
        try {
          return await firstTime()
        } catch (error) {
          if (caller.signal?.aborted || (error instanceof StoreError && unknown.has(error.reason))) throw error
          const answer = await kept()
          if (answer !== undefined) return answer
          // The other one, whose key was in the way, has been removed since.
          if (!failsBy(error, "duplicate")) throw error
        }
      }
    },
  }
}
