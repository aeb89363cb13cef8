import { randomBytes } from "node:crypto"
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { databaseTargets, describeServers } from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, encryptionKeys, newUser } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openSqlStore } from "./index.js"

const later = endsAfterEach()
const failure = (message: RegExp) => ({
  reason: "DATABASE_UNAVAILABLE",
  cause: { message: expect.stringMatching(message) },
})

async function opened(target: Parameters<typeof createStoreDatabase>[0]) {
  const database = await createStoreDatabase(target)
  later(() => database.drop())
  return { database, store: await database.openStore() }
}

test.each(databaseTargets())("a ping of %s fails while a table is missing, and names it", async (target) => {
  const { database, store } = await opened(target)
  await store.ping({})
  for (const table of ["authenticators", "verification_tokens", "events"]) {
    await database.query(`ALTER TABLE ${table} RENAME TO elsewhere`)
    await expect(store.ping({})).rejects.toMatchObject(failure(new RegExp(table)))
    await database.query(`ALTER TABLE elsewhere RENAME TO ${table}`)
    await store.ping({})
  }
})

test.each(databaseTargets())("pings of %s leave no row", async (target) => {
  const { database, store } = await opened(target)
  await store.ping({})
  await store.ping({})
  expect(await database.query("SELECT * FROM idempotency_keys")).toEqual([])
})

describeServers("a ping of %s", (target) => {
  test("fails while its user may not insert", async () => {
    const { database } = await opened(target)
    const name = `authwire_${randomBytes(6).toString("hex")}`
    const url = await createUser(database, name, "password", "SELECT")
    later(() => dropUser(database, name))
    const grant = (right: string, table = "idempotency_keys") =>
      database.query(`GRANT ${right} ON ${table} TO ${target === "postgres" ? name : `'${name}'@'%'`}`)
    await grant("DELETE")
    // For the lock of the tenant's row.
    await grant("UPDATE", "tenants")
    const store = await openSqlStore({ encryptionKeys, url })
    later(store.close)
    await expect(store.ping({})).rejects.toMatchObject(failure(/INSERT command denied|permission denied for table/))
    await grant("INSERT")
    await store.ping({})
  })
})

test.each(databaseTargets())("a ping of %s fails while a column is missing that no list selects", async (target) => {
  const { database, store } = await opened(target)
  // As after `migrate down`. Without the column no user can be created.
  await database.query("ALTER TABLE users RENAME COLUMN private_extra TO elsewhere")
  await expect(store.ping({})).rejects.toMatchObject(failure(/private_extra/))
  await database.query("ALTER TABLE users RENAME COLUMN elsewhere TO private_extra")
  await store.ping({})
})

if (databaseTargets().includes("sqlite")) {
  test.each(["", "-wal"])(
    "writes and pings fail while the file %s of SQLite is not the one that was opened",
    async (suffix) => {
      const { database, store } = await opened("sqlite")
      const file = `${database.url.slice("sqlite:".length)}${suffix}`
      const user = newUser()
      await store.users.create(anyone, user)
      const lost = failure(/ was removed or replaced while it was open: .* loses the/)
      const check = async () => {
        await expect(store.ping({})).rejects.toMatchObject(lost)
        await expect(store.users.create(anyone, newUser())).rejects.toMatchObject(lost)
        await expect(store.users.delete(anyone, user.id)).rejects.toMatchObject(lost)
        expect(await store.users.get(anyone, user.id)).toEqual(user)
      }
      renameSync(file, `${file}.kept`)
      await check()
      writeFileSync(file, "")
      await check()
      rmSync(file)
      renameSync(`${file}.kept`, file)
      await store.ping({})
      await store.users.delete(anyone, user.id)
    },
  )
}
