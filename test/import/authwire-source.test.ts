import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { anyone, encryptionKeys, range } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { type BulkRows, bulk, openSqlStore } from "../../server/src/store/sql/index.js"
import { filledDatabase } from "./filled-database.js"

const later = endsAfterEach()
const target = serviceDatabase()

/** Returns what copies a database into an empty one, with the ids of the users that are there then. */
async function copyOf(url: string) {
  const database = await createDatabase(target)
  later(() => database.drop())
  await migrate(database)
  const secrets = { AUTH_SECRET: testSecret, AUTHWIRE_ENCRYPTION_KEYS: encryptionKeys[0]?.toString("hex") ?? "" }
  const environment = { ...secrets, AUTHWIRE_DATABASE_URL: database.url }
  return async (...args: string[]) => {
    const result = await run(["import", "--from=authwire", `--url=${url}`, "--apply", ...args], environment)
    const users = await database.query("SELECT id FROM users ORDER BY id")
    return { ...result, users: users.map(({ id }) => String(id)) }
  }
}

test("a row that no call can write is refused, with its field and the rule, and all others are copied with --skip", async () => {
  const { url } = await filledDatabase(target, later)
  const store = await openSqlStore({ encryptionKeys, url })
  later(() => store.close())
  const tables = bulk(store.database, { ...anyone, encryptionKeys })
  const long = (bytes: number) => "x".repeat(bytes)
  const json = { of: long(65_536) }
  const user = (id: string, rest: Partial<BulkRows["users"]>) => ({ ...anyone, id, extra: {}, ...rest })
  const of = { ...anyone, userId: "u1" }
  const account = (provider: string, rest: Partial<BulkRows["accounts"]>): BulkRows["accounts"] => ({
    ...{ ...of, type: "oidc", provider, providerAccountId: "1", extra: {}, ...rest },
  })
  const session = { ...of, tokenHash: Buffer.alloc(32), expires: new Date("2040-01-01"), extra: json }
  const passkey = { ...of, providerAccountId: "c", credentialDeviceType: "multiDevice", credentialBackedUp: true }
  const authenticator = (rest: Partial<BulkRows["authenticators"]>): BulkRows["authenticators"] => ({
    ...{
      ...passkey,
      credentialID: `of ${Object.keys(rest)}`,
      credentialPublicKey: "k",
      counter: 0,
      extra: {},
      ...rest,
    },
  })
  const missing = {
    users: [
      user("image", { image: long(262_145) }),
      user("name", { name: long(60_000) }),
      user("extra", { extra: json }),
      user("private", { privateExtra: JSON.stringify(json) }),
      user("reason", { disabledSince: new Date(), disabledReason: long(60_000) }),
    ],
    accounts: [
      account("access", { access_token: long(131_073) }),
      account("refresh", { refresh_token: long(131_073) }),
      account("id", { id_token: long(131_073) }),
      account("details", { authorization_details: [json] }),
      account("object", { authorization_details: { a: 1 } as never }),
      account("numbers", { authorization_details: [5] as never }),
      account("extra", { extra: json }),
    ],
    sessions: [session],
    authenticators: [
      authenticator({ credentialPublicKey: long(60_000) }),
      authenticator({ transports: long(60_000) }),
      authenticator({ extra: json }),
    ],
  }
  for (const [name, rows] of Object.entries(missing))
    await tables[name as keyof typeof missing].write({ missing: rows as never[], changed: [] })

  const copy = await copyOf(url)
  const first = await copy()
  const found = first.stdout.match(/(?<=^invalid +)\S.*/gm)?.map((line) => line.split(/ {2,}/))
  const largest = "must not exceed 65536 bytes as JSON"
  expect(found).toEqual([
    ["user extra", `extra ${largest}`],
    ["user image", "image must be at most 262144 bytes"],
    ["user name", "name must be at most 4096 bytes"],
    ["user private", `private_extra ${largest}`],
    ["user reason", "disabledReason must be at most 500 characters"],
    ["account of user u1 with access", "access_token must be at most 131072 bytes"],
    ["account of user u1 with details", `authorization_details ${largest}`],
    ["account of user u1 with extra", `extra ${largest}`],
    ["account of user u1 with id", "id_token must be at most 131072 bytes"],
    ["account of user u1 with numbers", "authorization_details must be a JSON array of objects"],
    ["and 2 more", "--report FILE writes all of them"],
    ["session of user u1, SHA-256 000000000000…", `extra ${largest}`],
    ["authenticator of user u1", "credential_public_key must be at most 16384 bytes"],
    ["authenticator of user u1", `extra ${largest}`],
    ["authenticator of user u1", "transports must be at most 1024 bytes"],
  ])
  expect(first).toMatchObject({ code: 1, users: [] })
  expect(await copy("--skip")).toMatchObject({ code: 0, users: ["u1", "u2"] })
})

test("a row that cannot be read is refused, with its field and the rule, and all others are copied with --skip", async () => {
  const source = await filledDatabase(target, later)
  const store = await openSqlStore({ encryptionKeys, url: source.url })
  later(() => store.close())
  // They and those of the filled database are two pages. The last row of the first one cannot be read.
  const ids = range(500).map((n) => `a${String(n).padStart(3, "0")}`)
  const users = ids.map((id) => ({ ...anyone, id, extra: {} }))
  await bulk(store.database, { ...anyone, encryptionKeys }).users.write({ missing: users, changed: [] })
  const deep = `{"secret":${"[".repeat(32)}${"]".repeat(32)}}`
  const early = "0999-12-31 00:00:00"
  const changes: [string, string][] = [
    ["users SET extra = ? WHERE id = 'a499'", deep],
    ["users SET email_verified = ? WHERE id = 'a000'", early],
    ["users SET created = ? WHERE id = 'a001'", early],
    ["accounts SET authorization_details = ?", '{"secret'],
    ["sessions SET expires = ?", early],
    ["verification_tokens SET expires = ?", early],
    ["authenticators SET extra = ?", '["secret"]'],
  ]
  for (const [change, value] of changes) await source.query(`UPDATE ${change}`, [value])

  const copy = await copyOf(source.url)
  const { code, stdout } = await copy()
  const found = stdout.match(/(?<=^invalid +)\S.*/gm)?.map((line) => line.split(/ {2,}/))
  const time = "must be a time of the years 1000 to 9999"
  const json =
    "must be JSON of the form of the field, at most 32 levels deep, of finite numbers and well-formed Unicode"
  expect(found).toEqual([
    ["user a000", `email_verified ${time}`],
    ["user a001", `created ${time}`],
    ["user a499", `extra ${json}`],
    ["account of user u1 with google", `authorization_details ${json}`],
    ["session of user u1, SHA-256 73657373696f…", `expires ${time}`],
    ["verification token, SHA-256 746f6b656e74…", `expires ${time}`],
    ["authenticator of user u1", `extra ${json}`],
  ])
  expect(stdout).not.toContain("secret")
  expect(code).toBe(1)
  expect(await copy("--skip")).toMatchObject({ code: 0, users: [...ids.slice(2, -1), "u1", "u2"] })
})

// Other databases refuse a text in a column of bytes.
if (target === "sqlite")
  test("a key that cannot be read ends the import before anything is written, and is not taken for another key", async () => {
    const source = await filledDatabase(target, later)
    await source.query("UPDATE sessions SET token_hash = 'secret'")
    const { code, stdout, stderr, users } = await (await copyOf(source.url))("--skip")
    expect([code, users]).toEqual([1, []])
    expect(stdout + stderr).toContain("token_hash of a row of sessions cannot be read")
    expect(stdout + stderr).not.toContain("secret")
  })
