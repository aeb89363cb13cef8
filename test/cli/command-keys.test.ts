import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { UserService } from "@authwire/proto"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { ways } from "../auth/access/ways.js"

const keyForm = /^awk_([a-z2-7]{16})_([\w-]{43})\n$/
const later = endsAfterEach()
const [unary] = ways as [(typeof ways)[number]]
const ask = async (server: Awaited<ReturnType<typeof startServer>>, key: string, method = UserService.method.getUser) =>
  (await unary.call(server, method, { id: "nobody" }, { authorization: `Bearer ${key}` })).reason

const target = serviceDatabase()

describe("authwire keys and tenants", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase(target)
  })
  afterAll(() => database.drop())
  const authwire = (...args: string[]) => run(args, { AUTHWIRE_DATABASE_URL: database.url })

  test("before migrate up they report that, and change nothing", async () => {
    for (const args of [
      // This one first: a command that only reads does not create the file of SQLite.
      ["keys", "create", "--name=a", "--scopes=all"],
      ["keys", "list"],
      ["tenants", "list"],
    ]) {
      const { code, stdout, stderr } = await authwire(...args)
      expect(stderr).toMatch(/^authwire: \d+ migrations? (is|are) pending: run 'authwire migrate up' first.*\n$/)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    }
    await authwire("migrate", "up")
  })

  test("create prints the key once, and stores only the hash of its secret", async () => {
    const before = Date.now()
    const { code, stdout, stderr } = await authwire(
      ...["keys", "create", "--name=the shop", "--scopes=users:read, sessions:read,users:read", "--expires=90d"],
      "--certificate-name=DNS:app.internal",
    )
    expect(code).toBe(0)
    expect(stderr).toMatch(/^This key is shown only once, .*\n$/)
    const [, id = "", secret = ""] = keyForm.exec(stdout) ?? []
    expect(secret).not.toBe("")
    const rows = await database.query("SELECT * FROM api_keys WHERE id = ?", [id])
    expect(rows).toHaveLength(1)
    const [row] = rows as [Record<string, unknown>]
    expect(Buffer.from(row.secret_hash as Uint8Array).toString("hex")).toBe(
      createHash("sha256").update(secret).digest("hex"),
    )
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(JSON.parse(String(row.scopes))).toEqual(["users:read", "sessions:read"])
    expect(String(row.certificate_name)).toBe("DNS:app.internal")
    const expires = row.expires instanceof Date ? row.expires : new Date(`${String(row.expires).replace(" ", "T")}Z`)
    expect(expires.getTime() - before - 90 * 86_400_000).toBeGreaterThanOrEqual(0)
    expect(expires.getTime() - Date.now() - 90 * 86_400_000).toBeLessThanOrEqual(0)
  })

  test("list names the preset of the scopes, or the first three; with --json it prints all", async () => {
    const five = ["users:read", "users:write", "sessions:read", "sessions:write", "audit:read"]
    for (const [name, scopes] of [
      ["its preset", "operator"],
      ["some", five.join()],
      ["one", "sessions:introspect"],
    ]) {
      expect(await authwire("keys", "create", `--name=${name}`, `--scopes=${scopes}`)).toMatchObject({ code: 0 })
    }
    const { stdout } = await authwire("keys", "list")
    expect(stdout).toMatch(/ its preset +default +operator {2}/)
    expect(stdout).toMatch(/ some +default +users:read,users:write,sessions:read and 2 more {2}/)
    // Which is a preset too, but says more.
    expect(stdout).toMatch(/ one +default +sessions:introspect {2}/)
    const printed = (await authwire("keys", "list", "--json")).stdout.trim().split("\n")
    const [key] = printed.map((line) => JSON.parse(line)).filter(({ name }) => name === "some")
    expect(key).toMatchObject({
      id: expect.stringMatching(/^[a-z2-7]{16}$/),
      scopes: five,
      tenant: "default",
      state: "valid",
    })
    expect(JSON.stringify(key)).not.toMatch(/secret/i)
  })

  test("list shows every key and its state, and no secret; revoke ends a key only once", async () => {
    const made = await authwire("keys", "create", "--name=to be ended", "--scopes=all", "--certificate-name=DNS:c.d")
    const [, id = "", secret = ""] = keyForm.exec(made.stdout) ?? []
    const stateOf = async () => {
      const { stdout } = await authwire("keys", "list")
      expect(stdout).not.toContain(secret)
      return stdout.split("\n").find((line) => line.startsWith(id)) ?? ""
    }
    const date = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
    expect(await stateOf()).toMatch(new RegExp(`^${id}  to be ended +default +all +DNS:c\\.d +${date}  never +valid$`))
    const [head] = (await authwire("keys", "list")).stdout.split("\n")
    expect(head).toMatch(/^id +name +tenant +scopes +certificate +created +expires +state$/)
    expect(await authwire("keys", "revoke", id)).toMatchObject({ code: 0, stderr: "" })
    expect(await stateOf()).toMatch(/ revoked$/)
    const [row] = await database.query("SELECT revoked FROM api_keys WHERE id = ?", [id])
    expect(await authwire("keys", "revoke", id)).toMatchObject({ code: 0 })
    expect(await database.query("SELECT revoked FROM api_keys WHERE id = ?", [id])).toEqual([row])
    await authwire("keys", "create", "--name=short", "--scopes=all", "--expires=1s")
    for (;;) {
      const { stdout } = await authwire("keys", "list")
      if (/short .* expired$/m.test(stdout)) break
      expect(stdout).toMatch(/short .* valid$/m)
    }
  })

  test("a tenant is created once, and has its own keys", async () => {
    const missing = await authwire("keys", "create", "--name=a", "--scopes=all", "--tenant=acme")
    expect(missing).toEqual({
      code: 1,
      stdout: "",
      stderr: "authwire: there is no tenant acme: create it with: authwire tenants create acme\n",
    })
    expect(await authwire("tenants", "create", "acme")).toMatchObject({ code: 0, stderr: "" })
    expect(await authwire("tenants", "create", "acme")).toEqual({
      code: 1,
      stdout: "",
      stderr: "authwire: the tenant acme already exists\n",
    })
    const { stdout } = await authwire("tenants", "list")
    expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual(["name", "acme", "default", ""])
    await authwire("keys", "create", "--name=of acme", "--scopes=all", "--tenant=acme")
    expect((await authwire("keys", "list")).stdout).toMatch(/ of acme +acme +all /)
  })

  test("create rejects a certificate name that a valid key of another tenant has", async () => {
    const create = (...more: string[]) =>
      authwire("keys", "create", "--name=a", "--scopes=all", "--certificate-name=URI:spiffe://shop", ...more)
    const first = await create()
    const [, id = ""] = keyForm.exec(first.stdout) ?? []
    const rejected = await create("--tenant=acme")
    expect(rejected).toEqual({
      code: 1,
      stdout: "",
      stderr: `authwire: --certificate-name: must not be the name of a valid key of another tenant: the key ${id} of the tenant default has it\n`,
    })
    // The replacement of a key.
    const second = await create()
    const [, newId = ""] = keyForm.exec(second.stdout) ?? []
    expect(second).toMatchObject({ code: 0, stderr: expect.stringMatching(new RegExp(`replaces .*: ${id}\n$`)) })
    await authwire("keys", "revoke", id)
    expect(await create("--tenant=acme")).toMatchObject({ code: 1, stderr: expect.stringContaining(newId) })
    await authwire("keys", "revoke", newId)
    expect(await create("--tenant=acme", "--expires=1s")).toMatchObject({ code: 0, stderr: first.stderr })
    let last: Awaited<ReturnType<typeof create>>
    do last = await create()
    while (last.code !== 0)
    expect(last.stderr).toBe(first.stderr)
  })
})

describe("authwire keys", () => {
  const nowhere = { AUTHWIRE_DATABASE_URL: "mysql://nobody@127.0.0.1:1/nowhere" }

  test("create --offline uses no database: it prints the key and its entry, with which the key is valid", async () => {
    const args = ["keys", "create", "--offline", "--name=n", "--scopes=users:read", "--expires=2100-01-31"]
    const { code, stdout, stderr } = await run([...args, "--certificate-name=DNS:a.b"], nowhere)
    expect(code).toBe(0)
    expect(stderr).toMatch(/AUTHWIRE_API_KEYS/)
    const [key = "", entry = "", ...rest] = stdout.split("\n")
    expect(rest).toEqual([""])
    expect(`${key}\n`).toMatch(keyForm)
    expect(JSON.parse(entry)).toEqual({
      id: key.split("_")[1],
      name: "n",
      tenant: "default",
      scopes: ["users:read"],
      secretSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      certificateName: "DNS:a.b",
      expires: "2100-01-31T00:00:00.000Z",
    })
    const database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: `[${entry}]` }
    const server = await startServer({ databaseUrl: database.url, keys: false, env })
    later(server.stop)
    expect(await ask(server, key)).toBe("USER_NOT_FOUND")
    expect(await ask(server, key, UserService.method.deleteUser as never)).toBe("SCOPE_MISSING")
    await server.stop()
    await database.drop()
  })

  const create = ["keys", "create", "--offline"]
  test("revoke does not print a key that was given instead of its id", async () => {
    const { stdout } = await run([...create, "--name=a", "--scopes=all"])
    const [key = ""] = stdout.split("\n")
    const { code, stderr } = await run(["keys", "revoke", key], nowhere)
    expect(stderr).toMatch(/^authwire: keys revoke: must be the id of a key/)
    expect(stderr).not.toContain(key.slice(21))
    expect(code).toBe(2)
  })

  test("--dev: keys are stored in the database of --dev, which the command creates if needed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "authwire-dev-"))
    const previous = process.cwd()
    process.chdir(folder)
    try {
      const { code, stdout } = await run(["keys", "create", "--dev", "--name=a", "--scopes=users:read"])
      expect(code).toBe(0)
      expect(existsSync(".authwire/authwire.db")).toBe(true)
      const server = await startServer({ databaseUrl: "" })
      later(server.stop)
      expect(await ask(server, stdout.trim())).toBe("USER_NOT_FOUND")
      expect(await ask(server, stdout.trim(), UserService.method.deleteUser as never)).toBe("SCOPE_MISSING")
      expect(await server.stop()).toBe(0)
      expect(readFileSync(".authwire/authwire.db").includes(stdout.trim().slice(21))).toBe(false)
    } finally {
      process.chdir(previous)
      await rm(folder, { recursive: true })
    }
  })
})
