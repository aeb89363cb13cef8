import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import type { BulkName, BulkRows } from "../../store/sql/index.js"
import { check } from "../check.js"
import type { Item } from "../item.js"
import { type Decision, noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"

const later = endsAfterEach()
const hash = "$2b$12$hash"

/** Opens a database of people who sign in with passwords, and of one who does not. */
async function sourceOf(values: Record<string, Decision | { constant: string }> | undefined, userColumns = "") {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const sql of [
    `CREATE TABLE user (id text PRIMARY KEY, email text${userColumns})`,
    `INSERT INTO user (id, email) VALUES ('a', 'a@example.com'), ('b', 'b@example.com'), ('c', 'c@example.com')`,
    `CREATE TABLE account (id integer PRIMARY KEY, userId text, type text, provider text, providerAccountId text,
       access_token text, scope text, hint)`,
    `INSERT INTO account VALUES (1, 'a', 'credentials', 'credentials', 'a', '${hash} of a', NULL, NULL),
       (2, 'b', 'credentials', 'credentials', 'b', '${hash} of b', NULL, 'maiden name'),
       (3, 'b', 'credentials', 'ldap', 'b', NULL, 'staff', NULL), (4, 'c', 'oauth2', 'github', 'c', 'gho', NULL, NULL)`,
    "CREATE TABLE session (sessionToken text PRIMARY KEY, userId text, expires text)",
  ]) {
    await database.query(sql)
  }
  const source = await openSource(database.url)
  later(() => source.close())
  const mapping = { ...noMapping, ...(values && { columns: { accounts: { type: { column: "type", values } } } }) }
  return { database, opened: peerSource(source, { peer: "drizzle", mapping, tenant: "default" }) }
}

async function itemsOf<N extends BulkName>(source: Awaited<ReturnType<typeof peerSource>>, name: N) {
  const items: Item<BulkRows[N]>[] = []
  for await (const page of source.pages(name)) items.push(...page.items(false))
  return items
}

/** Returns what each user has: further properties, and private ones. */
const propertiesOf = async (source: Awaited<ReturnType<typeof peerSource>>) =>
  (await itemsOf(source, "users")).map(({ row }) => [row?.extra, JSON.parse(row?.privateExtra ?? "null")])

test("a type that the contract does not have costs its accounts, until the mapping says what becomes of them", async () => {
  const { opened } = await sourceOf(undefined)
  const faults = (await itemsOf(await opened, "accounts")).flatMap((item) => item.faults)
  expect(faults).toHaveLength(4)
  expect(faults[0]).toEqual({
    kind: "invalid",
    detail: "type must be one of oauth, oidc, email, webauthn: values in --mapping says what becomes of others",
  })
})

test("accounts of a type become private properties of their users, and others of another type", async () => {
  const { opened } = await sourceOf({ credentials: "private", oauth2: { constant: "oauth" } })
  const source = await opened
  const [credentials] = [{ id: 1, provider: "credentials", providerAccountId: "a", access_token: `${hash} of a` }]
  const ofB = [
    { ...credentials, id: 2, providerAccountId: "b", access_token: `${hash} of b`, hint: "maiden name" },
    { id: 3, provider: "ldap", providerAccountId: "b", scope: "staff" },
  ]
  expect(await propertiesOf(source)).toEqual([
    [{}, { credentials: [credentials] }],
    [{}, { credentials: ofB }],
    [{}, null],
  ])
  // A second reading is the same.
  expect(await propertiesOf(source)).toHaveLength(3)
  const checked = await check(source)
  later(async () => checked.close())
  expect(checked.findings.errors).toBe(0)
  expect(checked.findings.summaries().map(({ kind, table, count }) => [kind, table, count])).toEqual([
    ["set-aside", "accounts", 3],
  ])
  expect([checked.accepted.users, checked.accepted.accounts]).toEqual([3, 1])
  expect(checked.findings.conversions()).toMatchObject([{ property: "type", what: "oauth2 → oauth", count: 1 }])
  expect(source.notes).toContain(
    "account: accounts of type credentials are stored as private properties of their users",
  )
})

test("as further properties they have nothing that looks like a secret, and with ignore they are nothing", async () => {
  const kept = await (await sourceOf({ credentials: "keep", oauth2: "ignore" })).opened
  expect(await propertiesOf(kept)).toEqual([
    [{ credentials: [{ id: 1, provider: "credentials", providerAccountId: "a" }] }, null],
    [
      {
        credentials: [
          { id: 2, provider: "credentials", providerAccountId: "b", hint: "maiden name" },
          { id: 3, provider: "ldap", providerAccountId: "b", scope: "staff" },
        ],
      },
      null,
    ],
    [{}, null],
  ])
  const none = await (await sourceOf({ credentials: "ignore", oauth2: "ignore" })).opened
  expect(await propertiesOf(none)).toEqual([1, 2, 3].map(() => [{}, null]))
  const items = await itemsOf(none, "accounts")
  expect(items.map(({ row, faults }) => [row, faults.map(({ kind }) => kind)])).toEqual(
    items.map(() => [undefined, ["set-aside"]]),
  )
})

test("an account whose value JSON cannot hold is an error, and a column of the same name is one at once", async () => {
  const { database, opened } = await sourceOf({ credentials: "private", oauth2: "ignore" })
  await database.query("UPDATE account SET hint = CAST(X'ff' AS TEXT) WHERE id = 2")
  const source = await opened
  const kinds = (await itemsOf(source, "accounts")).map(({ faults }) => faults.map(({ kind }) => kind))
  expect(kinds[1]).toEqual(["set-aside", "invalid"])
  const clash = await sourceOf({ credentials: "private" }, ", credentials text")
  await expect(clash.opened).rejects.toThrow("credentials is a column of the users, and cannot be in values")
})

test("who has only a password can sign in, and a property that would get lost is named", async () => {
  const { database, opened } = await sourceOf({ credentials: "private", oauth2: "ignore" })
  await database.query("UPDATE user SET email = NULL")
  await database.query("UPDATE account SET userId = 'B' WHERE id = 2")
  await database.query("UPDATE account SET userId = 'nobody' WHERE id = 3")
  const checked = await check(await opened)
  later(async () => checked.close())
  expect(checked.findings.summaries().map(({ kind, examples }) => [kind, examples.map(({ row }) => row)])).toEqual([
    ["folded-reference", ["account of user B with credentials"]],
    ["set-aside", expect.any(Array)],
    ["orphan", ["account of user nobody with ldap"]],
    ["cannot-sign-in", ["user b", "user c"]],
  ])
})
