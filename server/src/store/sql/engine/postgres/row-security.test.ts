import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, encryptionKeys, newSession, newUser } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openSource } from "../../../../import/peer/open.js"
import { openSqlStore } from "../../index.js"

const later = endsAfterEach()
const unavailable = { reason: "DATABASE_UNAVAILABLE" }

/** A database with a user and a session, and the URL of a role that is not the owner of the tables. */
async function withRole() {
  const database = await createStoreDatabase("postgres")
  later(() => database.drop())
  const owner = await database.openStore()
  const user = newUser({ email: "ada@example.com" })
  await owner.users.create(anyone, user)
  const session = newSession(user.id, Date.now() + 60_000)
  await owner.sessions.create(anyone, session)
  const name = `role_${user.id}`
  const url = await createUser(database, name, "password")
  later(() => dropUser(database, name))
  return { database, url, user, session }
}

if (databaseTargets().includes("postgres")) {
  test("what a policy of row-level security hides is not reported as missing", async () => {
    const { database, url, user, session } = await withRole()
    const store = await openSqlStore({ encryptionKeys, url })
    later(() => store.close())
    expect(await store.users.get(anyone, user.id)).toMatchObject({ id: user.id })
    for (const table of ["users", "sessions"]) await database.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`)
    await expect(store.users.get(anyone, user.id)).rejects.toMatchObject(unavailable)
    await expect(store.users.getByEmail(anyone, "ada@example.com")).rejects.toMatchObject(unavailable)
    await expect(store.sessions.getWithUser(anyone, session.sessionToken)).rejects.toMatchObject(unavailable)
    await expect(store.ping({})).rejects.toMatchObject(unavailable)
  })

  test("a source of an import whose rows a policy hides cannot be read", async () => {
    const { database, url } = await withRole()
    const counted = async () => {
      const source = await openSource(url)
      return source.count("users").finally(() => source.close())
    }
    expect(await counted()).toBe(1)
    await database.query("ALTER TABLE users ENABLE ROW LEVEL SECURITY")
    await expect(counted()).rejects.toMatchObject({ code: "42501" })
  })
}
