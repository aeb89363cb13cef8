import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createUser, dropUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import { openDatabase } from "../index.js"

const later = endsAfterEach()
const servers = databaseTargets().filter((target) => target !== "sqlite")

// One after the other, because opening a database imports its driver, which jest allows only in the test that runs.
;(servers.length > 0 ? test : test.skip).each(servers)(
  "%s: each new connection uses the password of the moment",
  async (target) => {
    const tables = await createDatabase(target)
    later(tables.drop)
    const user = `rotating_${target}`
    const url = Object.assign(new URL(await createUser(tables, user, "first")), { password: "" }).href
    later(() => dropUser(tables, user))
    let password = "first"
    const asked: unknown[] = []
    const readPassword = async (server: unknown) => {
      asked.push(server)
      if (password === "") throw new Error("no password at present")
      return password
    }
    const database = await openDatabase({ url, readPassword, poolSize: 2, longestWaitMs: 100 })
    later(database.close)
    const one = async () => Number((await database.reads({}).read(plainSql("SELECT 1"), []))[0]?.[0])
    expect(await one()).toBe(1)
    const { hostname: host, port } = new URL(url)
    expect(asked).toContainEqual({ host, port: Number(port), username: user })

    await tables.query(
      target === "postgres"
        ? `ALTER ROLE ${user} PASSWORD 'second'`
        : `ALTER USER '${user}'@'%' IDENTIFIED BY 'second'`,
    )
    // Open connections stay.
    expect(await one()).toBe(1)
    await endConnections(tables, user)
    await expect(one()).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    password = ""
    await expect(one()).rejects.toMatchObject({ cause: { message: "no password at present" } })
    password = "second"
    expect(await one()).toBe(1)
  },
)
