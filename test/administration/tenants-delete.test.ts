import { createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run, runProcess, type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe("authwire tenants delete", () => {
  let database: TestDatabase
  let server: ServerProcess
  beforeAll(async () => {
    database = await createDatabase(serviceDatabase())
    server = await startServer({ databaseUrl: database.url, keys: true })
    await authwire("tenants", "create", "acme")
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })
  const authwire = (...args: string[]) => run(args, { AUTHWIRE_DATABASE_URL: database.url })
  const count = async () => Number((await database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)

  test("asks for the name again, and with --dry-run shows what there is", async () => {
    const acme = createAuthwireClient({
      url: server.grpcUrl,
      apiKey: (await createKey(database, "all", "--tenant=acme")).text,
    })
    const own = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
    for (let n = 0; n < 5; n++) await acme.users.createUser({ id: `${n}` })
    await own.users.createUser({ id: "other" })
    const dry = await authwire("tenants", "delete", "acme", "--dry-run")
    expect(dry).toMatchObject({ code: 0, stderr: "dry run: nothing was deleted\n" })
    expect(dry.stdout).toMatch(/^users: 5 would be deleted$/m)
    const silent = runProcess(["tenants", "delete", "acme"], { AUTHWIRE_DATABASE_URL: database.url })
    const other = authwire("tenants", "delete", "acme", "--confirm=default")
    for (const { code, stderr } of await Promise.all([silent, other])) {
      expect(code).toBe(2)
      expect(stderr).toMatch(/authwire: tenants delete: the name that was repeated is not acme: nothing was deleted\n$/)
    }
    expect(await authwire("tenants", "delete", "default", "--confirm=default")).toMatchObject({ code: 2 })
    expect(await authwire("tenants", "delete", "nowhere", "--confirm=nowhere")).toMatchObject({ code: 1 })
    expect(await count()).toBe(6)
    await expect(acme.users.getUser({ id: "0" })).resolves.toMatchObject({ user: { id: "0" } })

    const { code, stdout, stderr } = await authwire("tenants", "delete", "acme", "--confirm=acme", "--batch=2")
    expect(code).toBe(0)
    expect(stdout).toBe(
      "idempotency_keys: 5 deleted\nusers: 5 deleted\napi_keys: 1 deleted\ntenants: 1 deleted\ndeleted acme\n",
    )
    expect(stderr).toMatch(/^the keys of acme are revoked; /)
    await expect(acme.users.getUser({ id: "0" })).rejects.toThrow("revoked")
    await expect(own.users.getUser({ id: "other" })).resolves.toMatchObject({ user: { id: "other" } })
    expect((await authwire("tenants", "list")).stdout).not.toContain("acme")
    acme.close()
    own.close()
  }, 60_000)
})
