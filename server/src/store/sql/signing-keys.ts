import type { SigningKeyStore } from "../store.js"
import type { SigningKey } from "../types.js"
import type { Cipher } from "./cipher.js"
import type { Database } from "./database.js"
import type { Cell, Statements } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import type { SigningKeyRow } from "./schema/rows.js"

/** Creates the store of the keys that sign who a user is. There are a few of them. */
export function signingKeyStore(database: Database, cipher: Cipher): SigningKeyStore {
  const { signingKeys } = database.tables
  const all = signingKeys.statement(signingKeys.selectFrom("k").orderBy("k.number"))
  const replacePrivateKey = signingKeys.statement(
    signingKeys.updateOf("privateKey").where(signingKeys.keyIs()),
    ...signingKeys.key,
    "privateKey",
  )
  const rowOf = (cells: Cell[]) => signingKeys.row(cells)
  const rows = async (sql: Pick<Statements, "read">) => signingKeys.readable(await sql.read(all, {}), rowOf)
  const contextOf = ({ number }: Pick<SigningKeyRow, "number">) => ["signing_keys", String(number)]
  const seal = (number: number, privateKey: string) => cipher.seal(privateKey, contextOf({ number }))

  function opened(row: SigningKeyRow): SigningKey {
    try {
      return { ...row, privateKey: cipher.open(row.privateKey, contextOf(row)) }
    } catch {
      return { ...row, privateKey: undefined }
    }
  }

  return {
    list: async (waiter) => (await rows(database.reads(waiter))).map(opened),

    async add(waiter, { number, privateKey, usedFrom }) {
      const row = { number, privateKey: seal(number, privateKey), usedFrom }
      try {
        await database.write(waiter, [signingKeys.nameOf(row)], (sql) => sql.write(signingKeys.insert, row))
        return true
      } catch (error) {
        if (failsBy(error, "duplicate")) return false
        throw error
      }
    },

    async remove(waiter, numbers) {
      await database.write(
        waiter,
        numbers.map((number) => signingKeys.nameOf({ number })),
        async (sql) => {
          for (const number of numbers) await sql.write(signingKeys.delete, { number })
        },
      )
    },

    async reseal(waiter) {
      const counts = { seen: 0, resealed: 0, unreadable: 0 }
      for (const row of await rows(database.reads(waiter))) {
        counts.seen++
        if (cipher.isCurrent(row.privateKey)) continue
        const { number, privateKey } = opened(row)
        if (privateKey === undefined) counts.unreadable++
        else {
          const sealed = { number, privateKey: seal(number, privateKey) }
          await database.write(waiter, [signingKeys.nameOf(row)], (sql) => sql.write(replacePrivateKey, sealed))
          counts.resealed++
        }
      }
      return counts
    },
  }
}
