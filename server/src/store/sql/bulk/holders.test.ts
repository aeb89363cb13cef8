import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys, range } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { emailKey, openDatabase } from "../index.js"
import { type BulkRows, bulk } from "./bulk.js"
import { holders } from "./holders.js"

const later = endsAfterEach()
const user = (id: string, email?: string): BulkRows["users"] => {
  return { tenant: "default", id, email, emailKey: emailKey(email), extra: {} }
}
const account = (userId: string, providerAccountId: string): BulkRows["accounts"] => {
  return { tenant: "default", userId, type: "oauth", provider: "p", providerAccountId, extra: {} }
}
const authenticator = (userId: string, credentialID: string): BulkRows["authenticators"] => ({
  ...{ tenant: "default", userId, credentialID, providerAccountId: "1", credentialPublicKey: "k", counter: 0 },
  ...{ credentialDeviceType: "singleDevice", credentialBackedUp: false, extra: {} },
})

test.each(databaseTargets())("the holders of addresses and keys, of any number of rows, on %s", async (target) => {
  const created = await createDatabase(target)
  later(() => created.drop())
  await migrate(created)
  const database = await openDatabase({ url: created.url })
  later(() => database.close())
  const before = holders(database, "default")
  expect(await before.users?.([user("x", "a0@example.com")])).toEqual([undefined])
  const tables = bulk(database, { tenant: "default", encryptionKeys })
  const many = range(250)
  await tables.users.write({
    missing: [...many.map((n) => user(`u${n}`, `A${n}@example.com`)), user("n")],
    changed: [],
  })
  await tables.accounts.write({ missing: [account("u1", "ä"), account("u2", "a ")], changed: [] })
  await tables.authenticators.write({ missing: [authenticator("u3", "c")], changed: [] })

  const { users, accounts, authenticators } = holders(database, "default")
  const asked = [user("other"), ...many.map((n) => user(`new-${n}`, ` a${n}@EXAMPLE.com`)), user("z", "z@example.com")]
  expect(await users?.(asked)).toEqual([undefined, ...many.map((n) => `u${n}`), undefined])
  expect(await accounts?.(["ä", "Ä", "a", "a "].map((key) => account("x", key)))).toEqual([
    ...["u1", undefined, undefined, "u2"],
  ])
  expect(await authenticators?.([authenticator("x", "C"), authenticator("x", "c")])).toEqual([undefined, "u3"])
  expect(await users?.([])).toEqual([])
  expect(await holders(database, "other").users?.(asked.slice(0, 2))).toEqual([undefined, undefined])
})
