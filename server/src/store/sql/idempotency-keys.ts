import { hash } from "node:crypto"
import { StoreError, type StoreErrorReason } from "../../errors/store-error.js"
import type { Store } from "../store.js"
import type { Cipher } from "./cipher.js"
import type { Database } from "./database.js"
import { failsBy } from "./query/statement-error.js"
import { tenantNotFound } from "./schema/present-tenants.js"
import type { GroupTransaction } from "./transaction/group-commit.js"
import { againIfUnprepared } from "./transaction/unprepared.js"

/** The reasons after which it is unknown what is stored. */
const unknown: ReadonlySet<StoreErrorReason> = new Set([
  "CONFLICT",
  "DATABASE_UNAVAILABLE",
  "STATEMENT_TIMEOUT",
  "QUEUE_FULL",
])

/**
 * Creates `once`: writes that a client may repeat with the same key.
 *
 * The work runs first and its key is inserted last, in one transaction, so a first call needs no additional read. If
 * the work was done before, either the work fails, or its key is a duplicate and everything is rolled back. Then the
 * stored answer is read. No transaction waits for a row after it has locked a key, so keys never take part in a
 * deadlock.
 *
 * An answer may contain a session token, of which the database stores only the hash. So the answer is sealed with a key
 * that is also derived from the idempotency key, which only the caller has. Even with the table and the encryption keys
 * no answer can be read.
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
      const context = [caller.tenant, keyHash.toString("hex")]

      // Repeatable, because a second run cannot insert the key if the first was committed.
      const isRepeatable = true
      const workWithKey = async (unit: GroupTransaction) => {
        const bytes = await work(unit)
        const answer = cipher.seal(`${digest()} ${Buffer.from(bytes).toString("base64")}`, context, name)
        await unit.changeAtCommit(idempotencyKeys.insertion({ ...row, answer, created: new Date(clock()) }))
        return bytes
      }
      const firstTime = () => database.write(caller, [idempotencyKeys.nameOf(row)], workWithKey, isRepeatable)

      const kept = async (): Promise<Uint8Array | undefined> => {
        const rows = await database.reads(caller).read(idempotencyKeys.byKey, row)
        const found = idempotencyKeys.first(rows)
        if (found === null) return undefined
        const [digestThen, answer = ""] = cipher.open(found.answer, context, name).split(" ", 2)
        if (digestThen === digest()) return Buffer.from(answer, "base64")
        throw new StoreError("IDEMPOTENCY_KEY_REUSED", "the idempotency key was used for another request")
      }

      for (;;) {
        try {
          return await againIfUnprepared(caller, firstTime)
        } catch (error) {
          if (caller.signal?.aborted || (error instanceof StoreError && unknown.has(error.reason))) throw error
          const answer = await kept()
          if (answer !== undefined) return answer
          // The key that collided has been removed meanwhile.
          if (!failsBy(error, "duplicate")) throw tenantNotFound(error)
        }
      }
    },
  }
}
