import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import { check } from "../check.js"
import { type Mapping, noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"
import type { Source } from "./source.js"

const later = endsAfterEach()
const uuid = "00112233-4455-6677-8899-aabbccddeeff"

/** Returns the conversions of an import of these tables, as lines. */
async function conversionsOf(statements: string[], columns: Mapping["columns"]): Promise<string[]> {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const sql of statements) await database.query(sql)
  const source = await openSource(database.url)
  later(() => source.close())
  const checked = await check(
    await peerSource(source, { peer: "drizzle", mapping: { ...noMapping, columns }, tenant: "default" }),
  )
  later(async () => checked.close())
  expect(checked.findings.summaries().filter(({ kind }) => kind === "invalid")).toEqual([])
  return checked.findings
    .conversions()
    .map(({ count, table, property, what, example }) => `${count} ${table}.${property}: ${what} (${example})`)
}

test("values that become values of another kind are counted, those about trust first", async () => {
  const account = (id: number, token: string) =>
    `INSERT INTO account VALUES (X'${uuid.replaceAll("-", "")}', 'oauth', 'p', ${id}, ${token}, 'Bearer', 1893456000000)`
  const lines = await conversionsOf(
    [
      "CREATE TABLE user (id blob PRIMARY KEY, name text, emailVerified integer, created datetime, badge blob)",
      `INSERT INTO user VALUES (X'${uuid.replaceAll("-", "")}', 'Ada', 0, '2020-02-03 04:05:06', X'ff')`,
      `INSERT INTO user VALUES (X'${"00".repeat(16)}', NULL, 1, NULL, NULL), (X'${"11".repeat(16)}', 'Eve', 1, NULL, NULL)`,
      "CREATE TABLE account (userId blob, type text, provider text, providerAccountId integer, access_token, token_type text, expires_at integer)",
      account(1, "'text'"),
      account(2, "12345"),
      account(3, "X'4142'"),
      "CREATE TABLE session (sessionToken text PRIMARY KEY, userId blob, expires text)",
      `INSERT INTO session VALUES ('t', X'${uuid.replaceAll("-", "")}', '2030-01-01T00:00:00Z')`,
    ],
    {
      users: {
        id: { column: "id", as: "uuid" },
        emailVerified: { column: "emailVerified", whenTrue: "2026-01-02" },
      },
      accounts: {
        userId: { column: "userId", as: "uuid" },
        expires_at: { column: "expires_at", as: "milliseconds" },
      },
      sessions: { userId: { column: "userId", as: "uuid" } },
    },
  )
  const zero = "00000000-0000-0000-0000-000000000000"
  const hex = uuid.replaceAll("-", "")
  expect(lines.slice(0, 3).sort()).toEqual([
    `1 sessions.expires: text → date (session of user ${uuid}, SHA-256 e3b98a4da31a…: 2030-01-01T00:00:00Z → 2030-01-01T00:00:00.000Z)`,
    `1 users.emailVerified: false → no date (user ${uuid}: 0 → null)`,
    `2 users.emailVerified: true → date (user ${zero}: 1 → 2026-01-02T00:00:00.000Z)`,
  ])
  expect(lines.slice(3)).toEqual([
    `3 users.id: bytes → text (user ${uuid}: X'${hex}' → ${uuid})`,
    `1 users.created: date → text (user ${uuid})`,
    `1 users.badge: bytes → text (user ${uuid})`,
    `3 accounts.userId: bytes → text (account of user ${uuid} with p: X'${hex}' → ${uuid})`,
    `3 accounts.providerAccountId: number → text (account of user ${uuid} with p)`,
    `3 accounts.token_type: text → lower case (account of user ${uuid} with p)`,
    `3 accounts.expires_at: milliseconds → seconds (account of user ${uuid} with p: 1893456000000 → 1893456000)`,
    `1 accounts.access_token: number → text (account of user ${uuid} with p)`,
    `1 accounts.access_token: bytes → text (account of user ${uuid} with p)`,
    `1 sessions.userId: bytes → text (session of user ${uuid}, SHA-256 e3b98a4da31a…: X'${hex}' → ${uuid})`,
  ])
})

test("keys that the database folds are one note for all tables, and it comes first", async () => {
  const names: Record<string, string[]> = {
    user: ["id"],
    account: ["userId", "type", "provider", "providerAccountId"],
    session: ["sessionToken", "userId", "expires"],
  }
  const source = {
    tables: async () => Object.keys(names),
    describe: async (name: string) => ({
      name,
      key: ["id"],
      columns: (names[name] ?? []).map((column) => ({ name: column, type: "text", maxLength: undefined, folds: true })),
    }),
  } as unknown as Source
  const { notes } = await peerSource(source, { peer: "drizzle", mapping: noMapping, tenant: "default" })
  expect(notes[0]).toMatch(
    /^the database treats some different values of user\.id, account\.provider, account\.providerAccountId, session\.sessionToken as equal/,
  )
  expect(notes.slice(1)).toEqual([
    "there is no table verificationToken: no verificationTokens are imported",
    "there is no table authenticator: no authenticators are imported",
  ])
})
