import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run, runProcess } from "@authwire/test-support/processes/server.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

describe("authwire tenants delete", () => {
  const authwire = useAuthwire(serviceDatabase(), { keys: true })
  const command = (...args: string[]) => run(args, { AUTHWIRE_DATABASE_URL: authwire.database.url })
  beforeAll(async () => void (await command("tenants", "create", "acme")))
  const count = async () => Number((await authwire.database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)

  test("asks for the name again, and with --dry-run shows what there is", async () => {
    const acme = authwire.clientOf(await createKey(authwire.database, "all", "--tenant=acme"))
    const own = authwire.client
    for (let n = 0; n < 5; n++) await acme.users.createUser({ id: `${n}` })
    await own.users.createUser({ id: "other" })
    const dry = await command("tenants", "delete", "acme", "--dry-run")
    expect(dry).toMatchObject({ code: 0, stderr: "dry run: nothing was deleted\n" })
    expect(dry.stdout).toMatch(/^users: 5 would be deleted$/m)
    const silent = runProcess(["tenants", "delete", "acme"], { AUTHWIRE_DATABASE_URL: authwire.database.url })
    const other = command("tenants", "delete", "acme", "--confirm=default")
    for (const { code, stderr } of await Promise.all([silent, other])) {
      expect(code).toBe(2)
      expect(stderr).toMatch(/authwire: tenants delete: the name that was repeated is not acme: nothing was deleted\n$/)
    }
    expect(await command("tenants", "delete", "default", "--confirm=default")).toMatchObject({ code: 2 })
    expect(await command("tenants", "delete", "nowhere", "--confirm=nowhere")).toMatchObject({ code: 1 })
    expect(await count()).toBe(6)
    await expect(acme.users.getUser({ id: "0" })).resolves.toMatchObject({ user: { id: "0" } })

    const { code, stdout, stderr } = await command("tenants", "delete", "acme", "--confirm=acme", "--batch=2")
    expect(code).toBe(0)
    expect(stdout).toBe(
      "idempotency_keys: 5 deleted\nusers: 5 deleted\napi_keys: 1 deleted\ntenants: 1 deleted\ndeleted acme\n",
    )
    expect(stderr).toMatch(/^the keys of acme are revoked; /)
    await expect(acme.users.getUser({ id: "0" })).rejects.toThrow("revoked")
    await expect(own.users.getUser({ id: "other" })).resolves.toMatchObject({ user: { id: "other" } })
    expect((await command("tenants", "list")).stdout).not.toContain("acme")
    acme.close()
    own.close()
  }, 60_000)
})
