import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { PrivateExtraService } from "@authwire/proto"
import { createDatabase, type DatabaseTarget, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { timestampDate } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"
import { applicationOf, hasAdapters } from "./fixtures.js"

const later = endsAfterEach()
const describeApplications = hasAdapters() ? describe : describe.skip

interface Application {
  name: string
  from: string
  target: DatabaseTarget
  /** The mapping that the error without one has as an example; undefined if none is needed. */
  asked?: object
  /** What the error without a mapping says too. */
  says?: readonly string[]
  /** The mapping of the import. Default: the one of the error. */
  mapping?: object
  /** What else holds after the import. */
  also?: (imported: Imported) => Promise<void>
}

type Imported = Awaited<ReturnType<typeof imported>>

const legacyMapping = {
  tables: { verificationTokens: "verification_requests" },
  columns: { accounts: { type: "provider_type", provider: "provider_id", expires_at: "access_token_expires" } },
}

const applications: readonly Application[] = [
  {
    ...{ name: "prisma-jwt", from: "prisma", target: "sqlite" },
    asked: { tables: { sessions: null } },
    mapping: {
      tables: { sessions: null },
      columns: { accounts: { type: { column: "type", values: { credentials: "private" } } } },
    },
    // The application can still check the password.
    async also({ users: [ada, eve], privateOf }) {
      const password = { provider: "credentials", providerAccountId: "eve", access_token: "$2b$12$eve" }
      expect(await privateOf(eve?.id)).toMatchObject({ credentials: [password] })
      expect(await privateOf(ada?.id)).toBeUndefined()
    },
  },
  {
    ...{ name: "prisma-roles", from: "typeorm", target: "postgres" },
    async also({ users, client }) {
      const roles = await Promise.all(
        users.map(async ({ id }) => (await client.adapter.getUser(id))?.["roles" as "id"]),
      )
      expect(roles).toEqual([['super, "admin"', "USER"], [], ["USER"]])
    },
  },
  {
    ...{ name: "drizzle-prefix", from: "drizzle", target: "mysql" },
    asked: {
      tables: {
        ...{ users: "shop_user", accounts: "shop_account", sessions: "shop_session" },
        verificationTokens: "shop_verification_token",
      },
    },
  },
  ...(["mysql", "postgres"] as const).map((target) => ({
    ...{ name: "next-auth-3", from: "typeorm", target, mapping: legacyMapping },
    says: ["the table accounts has no column type", "the table accounts has no column provider"],
    async also({ client }: Imported) {
      const expiresAt = Date.UTC(2030, 0, 1, 2, 3, 4) / 1000
      expect(await client.adapter.getAccount("ada at GitHub", "github")).toMatchObject({ expires_at: expiresAt })
      expect(await client.adapter.getAccount("eve at GitHub", "github")).toMatchObject({ expires_at: null })
    },
  })),
]

/** Lets an application make its database, imports it, and starts the service. */
async function imported({ name, from, target, asked, says, mapping = asked }: Application) {
  const [old, database] = [await createDatabase(target), await createDatabase(target)]
  const folder = mkdtempSync(join(tmpdir(), "authwire-import-"))
  later(async () => {
    rmSync(folder, { recursive: true })
    await Promise.all([old.drop(), database.drop()])
  })
  const written = await applicationOf(name, old.url)
  await migrate(database)
  const env = { AUTHWIRE_DATABASE_URL: database.url, AUTHWIRE_SOURCE_URL: old.url, AUTH_SECRET: testSecret }
  const authwire = (...args: string[]) => run(["import", `--from=${from}`, ...args], env)
  if (asked !== undefined || says !== undefined) {
    const { code, stderr } = await authwire()
    expect(code).toBe(1)
    for (const one of says ?? []) expect(stderr).toContain(one)
    if (asked !== undefined) expect(JSON.parse(/ for example (\{.*\})/.exec(stderr)?.[1] ?? "null")).toEqual(asked)
  }
  const file = join(folder, "mapping.json")
  writeFileSync(file, JSON.stringify(mapping ?? {}))
  const applied = await authwire(`--mapping=${file}`, "--apply")
  expect([applied.stdout, applied.code, applied.stderr]).toEqual([
    expect.anything(),
    0,
    expect.stringMatching(/^every row was compared: source and target are equal/),
  ])
  const [all, reader] = [staticKey(["all"]), staticKey(["users:private"])]
  const server = await startServer({
    ...{ databaseUrl: database.url, keys: false },
    env: { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, reader.entry]) },
  })
  later(() => server.stop())
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
  later(async () => client.close())
  const transport = createGrpcTransport({ baseUrl: server.grpcUrl })
  const { getPrivateExtra } = createClient(PrivateExtraService, transport)
  const headers = { authorization: `Bearer ${reader.text}` }
  const privateOf = async (userId = "") => (await getPrivateExtra({ userId }, { headers })).privateExtra
  return { ...written, client, privateOf }
}

describeApplications.each(applications.filter(({ target }) => databaseTargets().includes(target)))(
  "the database of $name, on $target",
  (application) => {
    test("is imported: people are who they were, since when they were, and stay signed in", async () => {
      const found = await imported(application)
      const { users, sessions, client } = found
      expect(users.length).toBeGreaterThan(1)
      for (const { id, email, created } of users) {
        expect(await client.adapter.getUserByEmail(email)).toMatchObject({ id, email })
        const { users: listed } = await client.users.listUsers({ email })
        expect(listed.map(({ createTime }) => createTime && timestampDate(createTime).toISOString())).toEqual([created])
      }
      for (const { sessionToken, userId } of sessions) {
        expect(await client.adapter.getSessionAndUser(sessionToken)).toMatchObject({ user: { id: userId } })
      }
      await application.also?.(found)
    })
  },
)
