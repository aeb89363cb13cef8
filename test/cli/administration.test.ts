import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const authwire = useAuthwire(serviceDatabase())
let folder: string
/** A key for each of several sets of scopes. */
let all: string
let application: string
let reader: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "authwire-"))
  all = (await createKey(authwire.database, "all,session-policy:write")).text
  application = (await createKey(authwire.database, "all")).text
  reader = (await createKey(authwire.database, "users:read")).text
  const { users, accounts } = authwire.client
  await users.createUser({ id: "ann", email: "Ann@example.com", name: "Ann \u001b[2J", extra: { role: "editor" } })
  await accounts.linkAccount({
    userId: "ann",
    type: 1,
    provider: "github",
    providerAccountId: "7",
    accessToken: "secret",
  })
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Runs a command with a key. */
const command = (args: readonly string[], env: Record<string, string> = { AUTHWIRE_API_KEY: all }) =>
  run([...args, `--url=${authwire.server.grpcUrl}`], env)
const jsonOf = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
const createSessions = async (userId: string, count: number) => {
  for (let n = 0; n < count; n++) {
    await authwire.client.sessions.createSession({
      sessionToken: `token ${userId} ${n}`,
      userId,
      expires: { seconds: BigInt(Math.ceil(Date.now() / 1000) + 3600) },
      ip: "192.0.2.1",
    })
  }
}

describe("authwire users", () => {
  const rows = (id: string) =>
    authwire.rows(`SELECT email, email_key, email_verified, name, extra FROM users WHERE id = '${id}'`)

  test("create creates a user by the rules of the service, and says its id", async () => {
    const { code, stdout, stderr } = await command(
      ...[
        ["users", "create", "--email= Zoe@Example.com", "--verified=2026-01-31T12:00:00Z", "--name=Zoë"].concat(
          '--extra={"role":"editor"}',
        ),
      ],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [, id = ""] = /^created ([0-9a-f-]{36})\n$/.exec(stdout) ?? []
    const { user } = await authwire.client.users.getUser({ id })
    const emailVerified = { seconds: 1_769_860_800n }
    expect(user).toMatchObject({ email: " Zoe@Example.com", name: "Zoë", extra: { role: "editor" }, emailVerified })
    expect(await rows(id)).toMatchObject([{ email_key: "zoe@example.com" }])
    const again = await command(["users", "create", "--email=ZOE@example.com"])
    expect(again).toEqual({
      code: 1,
      stdout: "",
      stderr: "authwire: --email: another user has this address: authwire users find shows who\n",
    })
    const [other] = jsonOf((await command(["users", "create", "--email=eva@example.com", "--json"])).stdout)
    expect(await rows(other.id)).toMatchObject([{ email: "eva@example.com", email_verified: null, name: null }])
  })

  test("set changes what is given and removes what is empty; what show prints can be set", async () => {
    await authwire.client.users.createUser({ id: "ida", email: "ida@example.com", name: "Ida", extra: { a: 1 } })
    const verified = "--verified=2026-01-31T12:00:00Z"
    const set = await command(["users", "set", "ida", "--email=ida@example.org", verified, '--extra={"b":[null]}'])
    expect(set).toEqual({ code: 0, stdout: "changed ida\n", stderr: "" })
    const before = await command(["users", "show", "ida"])
    const shown = (property: string) => new RegExp(`^${property} +(\\S+)$`, "m").exec(before.stdout)?.[1] ?? ""
    expect([shown("email"), shown("name")]).toEqual(["ida@example.org", "Ida"])
    expect(shown("email verified")).toBe("2026-01-31T12:00:00Z")
    const cells = { email: "email", verified: "email verified", name: "name", extra: "further properties" }
    const same = Object.entries(cells).map(([option, property]) => `--${option}=${shown(property)}`)
    await command(["users", "set", "ida", ...same])
    expect(await command(["users", "show", "ida"])).toEqual(before)
    await command(["users", "set", "ida", "--email=", "--verified=", "--name="])
    expect(await rows("ida")).toMatchObject([{ email: null, email_key: null, email_verified: null, name: null }])
    const { user } = await authwire.client.users.getUser({ id: "ida" })
    expect(user?.extra).toMatchObject({ a: 1, b: [null] })
    const [json] = jsonOf((await command(["users", "set", "ida", "--verified=now", "--json"])).stdout)
    expect(Math.abs(Date.parse(json.emailVerified) - Date.now())).toBeLessThan(60_000)
  })

  test.each([
    ["create", [], "--email: is required, because the user signs in with it"],
    ["create", ["--email="], "--email: is required, because the user signs in with it"],
    ["create", ["--email=ada.example.com"], "--email: must be an e-mail address, such as ada@example.com"],
    ["set", ["ann", "--email=ada"], "--email: must be an e-mail address, such as ada@example.com"],
    ["create", ["--email=a@b.c", "--extra=[]"], '--extra: must be a JSON object, such as {"role": "editor"}'],
    ["create", ["--email=a@b.c", "--verified=yes"], "--verified: must be now, an ISO 8601 date, or empty"],
    ["set", ["ann"], "users set: give at least one of --email, --verified, --name, --extra"],
  ])("%s %j is rejected by its option and the rule", async (name, args, rule) => {
    const rejected = await command(["users", name, ...args])
    expect(rejected).toEqual({ code: 2, stdout: "", stderr: `authwire: ${rule}\n` })
  })

  test.each([
    ["--email", `${"a".repeat(320)}@example.com`, "--email: must be at most 320 characters"],
    ["--name", "n".repeat(5_000), "--name: must be at most 4096 bytes"],
    ["--verified", "0001-01-01T00:00:00Z", "--verified: "],
    ["--extra", '{"email":"a"}', "--extra: extra must not hold a value for a property that has a field of its own"],
  ])("what the service rejects names the option %s", async (option, value, rule) => {
    const { code, stderr } = await command(["users", "set", "ann", `${option}=${value}`])
    expect(stderr).toContain(`authwire: the service rejects an argument: ${rule}`)
    expect(code).toBe(1)
  })

  test("list begins with the newest, and says how many there are", async () => {
    const [{ count }] = (await authwire.rows("SELECT COUNT(*) AS count FROM users")) as [{ count: unknown }]
    const total = Number(count)
    const list = async (...args: string[]) => {
      const { stdout, stderr } = await command(["users", "list", "--json", ...args])
      return { ids: jsonOf(stdout).map(({ id }) => id), stderr }
    }
    const newest = await list("--limit=1000")
    expect(newest.stderr).toBe(`${total} in all\n`)
    expect(newest.ids).toHaveLength(total)
    expect((await list("--sort=oldest", "--limit=1000")).ids).toEqual(newest.ids.toReversed())
    expect(await list("--limit=2")).toEqual({
      ids: newest.ids.slice(0, 2),
      stderr: `2 of ${total}: use a higher --limit\n`,
    })
    await authwire.client.users.createUser({ id: "seen", email: "seen@example.com" })
    await createSessions("seen", 1)
    expect((await list("--sort=last-seen")).ids).toContain("seen")
    expect((await list("--sort=last-seen")).ids).not.toContain("ann")
    const table = await command(["users", "list", "--limit=1"])
    expect(table.stdout).toMatch(/^id +email +name +created\nseen +seen@example\.com +\d{4}-\S+Z\n$/)
    expect(await command(["users", "list", "--sort=id"])).toMatchObject({ code: 2 })
    await authwire.client.users.deleteUser({ id: "seen" })
  })

  test("find prints a table, or a line of JSON for each user", async () => {
    const { code, stdout, stderr } = await command(["users", "find", "ann@EXAMPLE.com"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^id +email +name +created\nann +Ann@example\.com +Ann \\u001b\[2J +\d{4}-\S+Z\n$/)
    const json = await command(["users", "find", "ann@example.com", "--json"])
    expect(jsonOf(json.stdout)).toMatchObject([{ id: "ann", email: "Ann@example.com" }])
    for (const options of [[], ["--json"]]) {
      const nobody = await command(["users", "find", "nobody@example.com", ...options])
      expect(nobody).toMatchObject({ code: 0, stdout: "", stderr: "found nothing\n" })
    }
  })

  test("find lists all whose address begins with the text; if there are none, those whose name does", async () => {
    const others = [
      { id: "find1", email: "Zed@one.example", name: "Xaver" },
      { id: "find2", email: "zed@two.example", name: "xaveria" },
      { id: "find3", email: "x@three.example", name: "Zed" },
    ]
    for (const one of others) await authwire.client.users.createUser(one)
    const found = async (...args: string[]) => {
      const { stdout } = await command(["users", "find", ...args, "--json"])
      return jsonOf(stdout).map(({ id }) => id)
    }
    expect(await found("ZED")).toEqual(["find1", "find2"])
    expect(await found("xav")).toEqual(["find1", "find2"])
    expect(await found("xav", "--limit=1")).toEqual(["find1"])
  })

  test("show prints a user and its accounts without their tokens", async () => {
    const { stdout } = await command(["users", "show", "ann"])
    expect(stdout).toMatch(/^accounts +github \(7\)$/m)
    expect(stdout).toMatch(/^further properties +\{"role":"editor"\}$/m)
    expect(stdout).toMatch(/^created +\d{4}-\S+Z$/m)
    expect(stdout).not.toContain("secret")
    const [json] = jsonOf((await command(["users", "show", "ann", "--json"])).stdout)
    expect(Math.abs(Date.parse(json.createTime) - Date.now())).toBeLessThan(600_000)
  })

  test("disable ends the sessions and says why, until enable", async () => {
    await authwire.client.users.createUser({ id: "eve" })
    await createSessions("eve", 2)
    const disable = await command(["users", "disable", "eve", "--until=7d", "--reason=chargeback \u001b[2J"])
    expect(disable).toEqual({ code: 0, stdout: "disabled eve; sessions revoked: 2\n", stderr: "" })
    const shown = await command(["users", "show", "eve"])
    expect(shown.stdout).toMatch(/^disabled +since \d{4}-\S+Z until \d{4}-\S+Z: chargeback \\u001b\[2J$/m)
    const [enabled] = jsonOf((await command(["users", "enable", "eve", "--json"])).stdout)
    expect([enabled.id, enabled.disabled]).toEqual(["eve", undefined])
    expect((await command(["users", "enable", "eve"])).stdout).toBe("enabled eve\n")
  })

  test("delete deletes the user, and nothing with --dry-run", async () => {
    await authwire.client.users.createUser({ id: "bob" })
    const dry = await command(["users", "delete", "bob", "--dry-run"])
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/^id +bob$/m) })
    expect(dry.stderr).toMatch(/^dry run: nothing was deleted/)
    expect(await authwire.rows("SELECT id FROM users WHERE id = 'bob'")).toHaveLength(1)
    expect(await command(["users", "delete", "bob"])).toEqual({ code: 0, stdout: "deleted bob\n", stderr: "" })
    expect(await authwire.rows("SELECT id FROM users WHERE id = 'bob'")).toHaveLength(0)
  })
})

describe("authwire sessions", () => {
  const count = async () => (await authwire.rows("SELECT id FROM sessions")).length

  test("list prints as many sessions as --limit allows, and says whether there are more", async () => {
    await createSessions("ann", 3)
    const { stdout, stderr } = await command(["sessions", "list", "--user=ann", "--limit=2"])
    expect(stdout.split("\n")[0]).toMatch(
      /^id +created +last seen +expires +provider +address +impersonator +user agent$/,
    )
    expect(stdout.match(/192\.0\.2\.1/g)).toHaveLength(2)
    expect(stderr).toBe("there are more than 2: use a higher --limit\n")
    const whole = await command(["sessions", "list", "--user=ann", "--json"])
    expect(jsonOf(whole.stdout)).toHaveLength(3)
    expect(whole.stdout + stdout).not.toContain("token ann")
  })

  test("revoke and revoke-all delete sessions, and none with --dry-run", async () => {
    const [session] = jsonOf((await command(["sessions", "list", "--user=ann", "--json"])).stdout)
    expect((await command(["sessions", "revoke", session.id, "--dry-run"])).stdout).toBe(`found ${session.id} of ann\n`)
    expect(await command(["sessions", "revoke-all", "--user=ann", "--dry-run"])).toMatchObject({ stdout: "found: 3\n" })
    expect(await count()).toBe(3)
    expect((await command(["sessions", "revoke", session.id])).stdout).toBe(`revoked ${session.id} of ann\n`)
    expect(await command(["sessions", "revoke", session.id])).toMatchObject({
      code: 1,
      stderr: "authwire: there is no session with this id: authwire sessions list shows the ids\n",
    })
    expect((await command(["sessions", "revoke-all", "--user=ann"])).stdout).toBe("revoked: 2\n")
    expect(await count()).toBe(0)
  })
})

describe("authwire sessions revoke-all without a user", () => {
  const marks = () => authwire.rows("SELECT provider FROM session_policies WHERE revoked_before IS NOT NULL")

  test("asks, and writes nothing without yes or with --dry-run", async () => {
    expect(await command(["sessions", "revoke-all", "--dry-run"])).toMatchObject({ code: 0, stdout: "" })
    expect(await command(["sessions", "revoke-all"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Type yes to go on: .*not confirmed: nothing was revoked/s),
    })
    expect(await command(["sessions", "revoke-all", "--user=ann", "--provider=p"])).toMatchObject({ code: 2 })
    expect(await marks()).toEqual([])
  })

  test("with --yes ends the sessions of everybody, or of a provider", async () => {
    await createSessions("ann", 2)
    expect((await command(["sessions", "revoke-all", "--provider=p", "--yes"])).stdout).toMatch(
      /^revoked: all that were/,
    )
    expect(await marks()).toEqual([{ provider: "p" }])
    const [answer] = jsonOf((await command(["sessions", "revoke-all", "--yes", "--json"])).stdout)
    expect(Date.parse(answer.createdBefore)).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(await marks()).toHaveLength(2)
    const listed = jsonOf((await command(["sessions", "list", "--user=ann", "--json"])).stdout)
    expect(listed.filter(({ expires }) => Date.parse(expires) > Date.now())).toEqual([])
  })
})

describe("authwire policy", () => {
  test.each(["7d", "none"])("set accepts what show prints: %s", async (time) => {
    const titles = { "max-age": time, "idle-timeout": time, "max-sessions": time === "none" ? "none" : "5" }
    await command(["policy", "set", "--max-age=0", "--idle-timeout=0", "--max-sessions=0", "--at-limit=end-oldest"])
    const printed = async (args: string[]) => {
      const { stdout } = await command(args)
      return (stdout.split("\n")[1] ?? "").split(/ {2,}/)
    }
    const set = Object.entries(titles).map(([option, value]) => `--${option}=${value}`)
    const [age, idle, most, limit] = await printed(["policy", "set", ...set])
    expect([age, idle, most]).toEqual(Object.values(titles))
    const cells = [`--max-age=${age}`, `--idle-timeout=${idle}`, `--max-sessions=${most}`, `--at-limit=${limit}`]
    expect(await printed(["policy", "set", ...cells])).toEqual([age, idle, most, limit])
    await command(["policy", "set", "--max-age=none", "--idle-timeout=none", "--max-sessions=none"])
  })

  test("set changes the given rules, 0 removes one, and show prints them", async () => {
    expect((await command(["policy", "show"])).stdout).toMatch(/\nnone +none +none +end-oldest\n/)
    const set = ["policy", "set", "--max-age=7d", "--idle-timeout=30m", "--max-sessions=5", "--at-limit=reject-new"]
    expect((await command(set)).stdout).toMatch(/\n7d +30m +5 +reject-new\n/)
    await command(["policy", "set", "--max-sessions=0"])
    const [policy] = jsonOf((await command(["policy", "show", "--json"])).stdout)
    const { etag: _, ...rules } = policy
    expect(rules).toEqual({
      maxAge: "604800s",
      idleTimeout: "1800s",
      atLimit: "SESSION_LIMIT_ACTION_REJECT_NEW",
    })
    for (const args of [[], ["--max-age=30s"], ["--max-sessions=-1"]])
      expect(await command(["policy", "set", ...args])).toMatchObject({ code: 2 })
    await command(["policy", "set", "--max-age=0", "--idle-timeout=0", "--at-limit=end-oldest"])
    expect((await command(["policy", "show"])).stdout).toMatch(/\nnone +none +none +end-oldest\n/)
  })
})

test("the key may be in a file", async () => {
  const file = join(folder, "key")
  await writeFile(file, `${all}\n`)
  expect(await command(["users", "show", "ann"], { AUTHWIRE_API_KEY_FILE: file })).toMatchObject({ code: 0 })
})

test.each([
  ["an unknown user", ["users", "show", "nobody"], "all", /^authwire: there is no user with this id: .*\n$/],
  [
    "a missing scope",
    ["users", "delete", "ann"],
    "reader",
    /^authwire: the API key lacks the scope users:write: .* authwire keys create --name NAME --scopes users:write\n$/,
  ],
  [
    "a scope that is not part of all",
    ["policy", "set", "--max-age=0"],
    "application",
    /^authwire: the API key lacks the scope session-policy:write: .*\n$/,
  ],
  ["an invalid key", ["users", "show", "ann"], "invalid", /^authwire: the service rejects the API key, .*\n$/],
  ["an invalid id", ["users", "show", "a".repeat(300)], "all", /^authwire: the service rejects an argument: id: .*\n$/],
])("%s is one sentence with the reason and what to do", async (_, args, key, sentence) => {
  const keys: Record<string, string> = { all, application, reader, invalid: `${all.slice(0, -3)}xxx` }
  const { code, stdout, stderr } = await command(args, { AUTHWIRE_API_KEY: keys[key] as string })
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  expect(stderr).toMatch(sentence)
  expect(stderr).not.toContain(keys[key])
})

test("the HTTP address of the service may be given too", async () => {
  const { httpUrl } = authwire.server
  expect(await run(["users", "show", "ann", `--url=${httpUrl}`], { AUTHWIRE_API_KEY: all })).toMatchObject({ code: 0 })
})

test("if no service listens, the address is named", async () => {
  const { code, stderr } = await run(["users", "show", "ann", "--url=http://127.0.0.1:1"], { AUTHWIRE_API_KEY: all })
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^authwire: http:\/\/127\.0\.0\.1:1: no Authwire answers at this address \(ECONNREFUSED\): .*\n$/,
  )
})
