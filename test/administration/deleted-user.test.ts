import { mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { run } from "@authwire/test-support/processes/server.js"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"

const target = serviceDatabase()
const auditLog = join(mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "audit-")), "log")
const expires = timestampFromMs(Date.UTC(2099, 0, 1))
/** Is in every text that is stored about the user, but not in its id. */
const mark = "planted"
const id = "id-of-the-deleted@example.com"

const authwire = useAuthwire(target, {
  args: [...["--audit-store=database", `--audit-log=${auditLog}`, "--log-level=trace", "--events-keep=24h"]],
})

/** Returns the tables that have a text in some column. */
async function tablesWith(text: string): Promise<string[]> {
  const names =
    target === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE type = 'table'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()"
  const found: string[] = []
  for (const { name } of await authwire.rows(names)) {
    const rows = await authwire.rows(`SELECT * FROM ${name}`)
    const shown = JSON.stringify(rows, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    )
    if (shown.includes(text)) found.push(String(name))
  }
  return found.sort()
}
const logs = () => authwire.server.output() + readFileSync(auditLog, "utf8")

/** Writes every kind of data about the user, with every method that does. */
async function write() {
  const { users, accounts, sessions, authenticators, verificationTokens } = authwire.client
  const extra = { [mark]: [mark] }
  const email = `Zoe.${mark}@example.com`
  await users.createUser({ id, email, name: mark, image: mark, extra })
  await users.updateUser({ id, name: `${mark} 2`, extra, updateMask: { paths: ["name", "extra"] } })
  const account = { provider: "github", providerAccountId: `${mark} account` }
  const tokens = { accessToken: mark, refreshToken: mark, idToken: mark, scope: mark, extra }
  await accounts.linkAccount({ userId: id, type: 1, ...account, ...tokens })
  for (const n of [1, 2]) {
    const sessionToken = `${mark} session ${n}`
    const origin = { ip: mark, userAgent: mark, authMethod: mark, provider: mark, impersonator: `${mark} staff` }
    await sessions.createSession({ sessionToken, userId: id, expires, extra, ...origin })
    await sessions.getSessionAndUser({ sessionToken })
    await sessions.updateSession({ sessionToken, extra, updateMask: { paths: ["extra"] } })
  }
  await sessions.deleteSession({ sessionToken: `${mark} session 1` })
  await authenticators.createAuthenticator({
    credentialId: mark,
    userId: id,
    providerAccountId: mark,
    credentialPublicKey: mark,
    counter: 1,
    credentialDeviceType: mark,
    transports: mark,
    extra,
  })
  // Auth.js sends links to the address in lower case.
  for (const identifier of [email, email.toLowerCase()])
    await verificationTokens.createVerificationToken({ identifier, token: mark, expires })
  await users.getUserByEmail({ email })
  // Calls that fail may have an address, too.
  await users.createUser({ email }).catch(() => {})
  await users.getUserByEmail({ email: `nobody.${mark}@example.com` }).catch(() => {})
}

test("nothing about a deleted user is left in any table or log, except its id in events until they are cleaned up", async () => {
  await write()
  expect(await tablesWith(mark)).toEqual(["accounts", "authenticators", "sessions", "users", "verification_tokens"])
  expect(await tablesWith(id)).toEqual(["accounts", "authenticators", "events", "sessions", "users"])
  await authwire.client.users.deleteUser({ id })
  expect(await tablesWith(mark)).toEqual([])
  // The audit has the beginning of the hash of an id that may be an address.
  expect(await tablesWith(id)).toEqual(["events"])
  expect((await authwire.rows("SELECT id FROM audit_entries WHERE method LIKE '%DeleteUser'")).length).toBe(1)
  await authwire.server.stop()
  for (const text of [mark, id]) expect([text, logs().includes(text)]).toEqual([text, false])
  expect(logs()).toContain("UserService/DeleteUser")

  const past = target === "sqlite" ? "'2020-01-01 00:00:00.000'" : "'2020-01-01'"
  await authwire.rows(`UPDATE events SET created = ${past}`)
  expect((await run(["cleanup"], { AUTHWIRE_DATABASE_URL: authwire.database.url })).code).toBe(0)
  expect(await tablesWith(id)).toEqual([])
})
