import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import { type Mapping, noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"

const later = endsAfterEach()

const account =
  "(userId text, type text, provider text, providerAccountId text, PRIMARY KEY (provider, providerAccountId))"
const session = "(sessionToken text PRIMARY KEY, userId text, expires text)"

/** Returns what opens these tables as those of Prisma. */
async function openerOf(...tables: string[]) {
  const database = await createDatabase("sqlite")
  later(() => database.drop())
  for (const table of tables) await database.query(`CREATE TABLE ${table}`)
  const source = await openSource(database.url)
  later(() => source.close())
  return (mapping: Partial<Mapping> = {}) =>
    peerSource(source, { peer: "prisma", mapping: { ...noMapping, ...mapping }, tenant: "default" })
}

const messageOf = (opening: Promise<unknown>) =>
  opening.then(
    () => "",
    (error: Error) => error.message,
  )

test.each([
  {
    database: "folded by lower_case_table_names",
    tables: [
      "user (id text PRIMARY KEY)",
      `account ${account}`,
      `session ${session}`,
      "verificationtoken (identifier text, token text, expires text, PRIMARY KEY (identifier, token))",
    ],
    mapping: {
      tables: { users: "user", accounts: "account", sessions: "session", verificationTokens: "verificationtoken" },
    },
    notes: ["there is no table Authenticator: no authenticators are imported"],
  },
  {
    database: "without sessions, for JWT sessions",
    tables: ["User (id text PRIMARY KEY)", `Account ${account}`],
    mapping: { tables: { sessions: null } },
    notes: ["the mapping says that there are no sessions: none are imported"],
  },
  {
    database: "without accounts, for links in e-mails",
    tables: ["User (id text PRIMARY KEY)", `Session ${session}`],
    mapping: { tables: { accounts: null } },
    notes: ["the mapping says that there are no accounts: none are imported"],
  },
  {
    database: "with a prefix before its names",
    tables: [
      "shop_user (id text PRIMARY KEY)",
      `shop_account ${account}`,
      `shop_blocked_account ${account}`,
      `shop_session ${session}`,
    ],
    mapping: { tables: { users: "shop_user", accounts: "shop_account", sessions: "shop_session" } },
    notes: [],
  },
  {
    database: "with names of its own, some of which are almost those of Auth.js",
    tables: ["users (id text PRIMARY KEY, E_Mail text, email_verified_at text)", "Account (user_id text)"],
    mapping: {
      tables: { users: "users", sessions: null },
      columns: { users: { email: "E_Mail", emailVerified: "email_verified_at" } },
    },
    missing: ["type", "provider", "providerAccountId"],
  },
])("of a database $database, all is asked for at once, with a mapping that is the answer", async (one) => {
  const open = await openerOf(...one.tables)
  const message = await messageOf(open())
  expect(message).toMatch(/^--url: there is no table /)
  const example = JSON.parse(/ for example (\{.*\})$/.exec(message)?.[1] ?? "null")
  expect(example).toEqual(one.mapping)
  for (const column of one.missing ?? [])
    expect(message).toContain(`the table Account has no column ${column}, only user_id;`)
  if (one.missing !== undefined) return
  const source = await open(example)
  expect(await source.count("users")).toBe(0)
  expect(source.notes).toEqual(expect.arrayContaining(one.notes))
})

test("an application always has users, and a table that the mapping names must be there", async () => {
  const open = await openerOf("people (id text PRIMARY KEY)")
  expect(await messageOf(open({ tables: { accounts: null, sessions: null } }))).toBe(
    "--url: there is no table User for users; the tables are people; see --mapping",
  )
  expect(await messageOf(open({ tables: { users: "people", accounts: null, sessions: "cookies" } }))).toBe(
    "--url: there is no table cookies for sessions; the tables are people; say in the file of --mapping what is meant " +
      '(null: the application has none), for example {"tables":{"sessions":null}}',
  )
})
