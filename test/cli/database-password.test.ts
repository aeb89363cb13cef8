import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, testOnServer } from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"

testOnServer("the password of the database may change while the service runs", async (later, engine) => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-password-"))
  later(async () => rmSync(folder, { recursive: true }))
  const file = join(folder, "password")
  const database = await createDatabase(engine)
  later(database.drop)
  const user = `rotating_serve_${engine}`
  const url = Object.assign(new URL(await createUser(database, user, "first-password")), { password: "" }).href
  later(() => dropUser(database, user))
  const change = async (password: string) => {
    const who = engine === "postgres" ? `ROLE ${user} PASSWORD` : `USER '${user}'@'%' IDENTIFIED BY`
    await database.query(`ALTER ${who} '${password}'`)
    await endConnections(database, user)
  }
  writeFileSync(file, "first-password\n")
  const env = { AUTHWIRE_DATABASE_URL: url, AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_PASSWORD_FILE: file }
  expect(await run(["migrate", "up"], env)).toMatchObject({ code: 0 })
  const server = await startServer({ databaseUrl: url, args: [`--database-password-command=/bin/cat ${file}`] })
  later(() => server.stop())
  const client = createAuthwireClient({ url: server.grpcUrl })
  later(async () => client.close())
  const works = async () => (await client.adapter.getUser("none").catch(() => false)) === null
  expect(await works()).toBe(true)
  await change("second-password")
  await until(async () => !(await works()))
  writeFileSync(file, "second-password\n")
  await until(works)
  // Every command says the option by its name.
  rmSync(file)
  const { stdout } = await run(["doctor"], env)
  expect(stdout).toMatch(/^wrong +database +cannot open .*--database-password-file: ENOENT/m)
  writeFileSync(file, "wrong-password\n")
  const failed = await run(["migrate", "status"], env)
  expect(failed.stderr).toMatch(/the server rejects the user or the password/)
  expect(`${server.output()}${server.log()}${stdout}${failed.stderr}`).not.toMatch(/(first|second|wrong)-password/)
})
