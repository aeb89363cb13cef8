import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { StoreError } from "../errors/store-error.js"
import { openDatabase } from "../store/sql/index.js"
import { diagnoseDatabase } from "./database.js"

test("a database that no longer answers is not taken for one whose accounts need other encryption keys", async () => {
  const tables = await createStoreDatabase("sqlite")
  const database = await openDatabase({ url: tables.url })
  const unavailable = new StoreError("DATABASE_UNAVAILABLE", "the database cannot be reached")
  try {
    const failing: typeof database = {
      ...database,
      reads: (...given) => ({
        async read(statement, values) {
          if (/FROM "accounts"/.test(statement.sql)) throw unavailable
          return database.reads(...given).read(statement, values)
        },
      }),
    }
    expect(await diagnoseDatabase(database, { encryptionKeys })).toContainEqual(
      expect.objectContaining({ state: "ok", what: "encryption keys" }),
    )
    await expect(diagnoseDatabase(failing, { encryptionKeys })).rejects.toBe(unavailable)
  } finally {
    await database.close()
    await tables.drop()
  }
})
