import { createAuthwireClient } from "@authwire/client"
import { PrivateExtraService, UserService } from "@authwire/proto"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"
import { visit } from "../gateways/visit.js"

const later = endsAfterEach()
const target = serviceDatabase()

const [passwordHash, totp_secret] = ["$2b$12$hash-of-the-old-database", "JBSWY3DPEHPK3PXP"]
const isSecret = /hash-of-the-old|JBSWY3DP|passwordHash|totp_secret|session-secret/
const sessionToken = "token-of-the-old-cookie"
const email = "ada@example.com"

/** The tables of an application with Prisma and passwords. */
const source = [
  "CREATE TABLE User (id varchar(64) PRIMARY KEY, email varchar(99), emailVerified timestamp NULL, name varchar(99), passwordHash text, totp_secret text, nickname text)",
  "CREATE TABLE Account (userId varchar(64), type varchar(9), provider varchar(99), providerAccountId varchar(99), PRIMARY KEY (provider, providerAccountId))",
  "CREATE TABLE Session (sessionToken varchar(99) PRIMARY KEY, userId varchar(64), expires varchar(30), accessToken text)",
  `INSERT INTO User VALUES ('u', '${email}', NULL, 'Ada', '${passwordHash}', '${totp_secret}', 'Countess')`,
  "INSERT INTO Account VALUES ('u', 'oauth', 'github', 'a')",
  `INSERT INTO Session VALUES ('${sessionToken}', 'u', '2099-01-01T00:00:00Z', 'session-secret')`,
]

test("the hash of a password in an old database comes out of nothing but GetPrivateExtra, with its own scope", async () => {
  const [old, database, copy] = [
    await createDatabase(target),
    await createDatabase(target),
    await createDatabase(target),
  ]
  later(() => Promise.all([old.drop(), database.drop(), copy.drop()]))
  for (const statement of source) await old.query(statement)
  for (const one of [database, copy]) await migrate(one)
  const env = { AUTHWIRE_DATABASE_URL: database.url, AUTHWIRE_SOURCE_URL: old.url, AUTH_SECRET: testSecret }

  const isTold = /^note: User: .* are stored as private properties: passwordHash, totp_secret$/m
  for (const command of ["import", "doctor"]) {
    const { stdout, code } = await run([command, "--from=prisma"], env)
    expect(stdout).toMatch(isTold)
    expect(stdout).toMatch(/^note: Session: .* are not imported: accessToken$/m)
    expect([code, stdout.match(/hash-of-the-old|JBSWY3DP/)]).toEqual([0, null])
  }
  const applied = await run(["import", "--from=prisma", "--apply"], env)
  expect(applied).toMatchObject({ code: 0, stderr: "every row was compared: source and target are equal\n" })

  const [all, reader] = [staticKey(["all"]), staticKey(["users:private"])]
  const server = await startServer({
    databaseUrl: database.url,
    keys: false,
    args: ["--log-level=trace"],
    env: { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, reader.entry]) },
  })
  later(() => server.stop())
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text, sessionCache: {} })
  later(async () => client.close())

  // Every way in which an application, a backend, a gateway or an operator sees the user.
  const { adapter, users, sessions, accounts, introspection } = client
  const cookie = `authjs.session-token=${sessionToken}`
  const headers = [{ name: "cookie", value: cookie }]
  const asked = {
    path: "/v1/authorize?headers=x-auth-hash%3DpasswordHash",
    headers: [
      ["authorization", `Bearer ${all.text}`],
      ["cookie", cookie],
    ] as const,
  }
  const seen = [
    await adapter.getSessionAndUser?.(sessionToken),
    await adapter.getSessionAndUser?.(sessionToken),
    await adapter.getUser?.("u"),
    await adapter.getUserByEmail?.(email),
    await adapter.getUserByAccount?.({ provider: "github", providerAccountId: "a" }),
    await adapter.updateUser?.({ id: "u", name: "Ada L." }),
    await users.listUsers({}),
    await users.getUser({ id: "u" }),
    await sessions.listSessions({ userId: "u" }),
    await accounts.listAccountsByUser({ userId: "u", includeTokens: true }),
    await introspection.introspect({ headers }),
    await visit(server.httpUrl, asked),
    await database.query("SELECT * FROM events"),
    (await run(["export"], env)).stdout,
  ]
  const shown = seen.map((one) =>
    JSON.stringify(one, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  )
  expect(shown.filter((text) => isSecret.test(text))).toEqual([])
  // They did return the user.
  expect(shown.filter((text) => text.includes("Countess"))).toHaveLength(10)

  const transport = createGrpcTransport({ baseUrl: server.grpcUrl })
  const { getPrivateExtra } = createClient(PrivateExtraService, transport)
  const keyOf = ({ text }: { text: string }) => ({ headers: { authorization: `Bearer ${text}` } })
  await expect(getPrivateExtra({ userId: "u" }, keyOf(all))).rejects.toThrow("lacks the scope users:private")
  const answer = await getPrivateExtra({ userId: "u" }, keyOf(reader))
  expect(answer.privateExtra).toEqual({ passwordHash, totp_secret })
  await expect(createClient(UserService, transport).getUser({ id: "u" }, keyOf(reader))).rejects.toThrow("users:read")
  expect(server.output()).not.toMatch(isSecret)

  // They move to another database, in which a complete export shows them.
  const moved = { ...env, AUTHWIRE_DATABASE_URL: copy.url, AUTHWIRE_SOURCE_URL: database.url }
  expect((await run(["import", "--from=authwire", "--apply"], moved)).code).toBe(0)
  const { stdout } = await run(["export", "--with-secrets"], moved)
  expect(JSON.parse(stdout.split("\n", 1)[0] ?? "")).toMatchObject({
    ...{ table: "users", name: "Ada L.", extra: { nickname: "Countess" } },
    privateExtra: { passwordHash, totp_secret },
  })

  expect(await adapter.deleteUser?.("u")).not.toHaveProperty("passwordHash")
  await expect(getPrivateExtra({ userId: "u" }, keyOf(reader))).rejects.toThrow("no such user")
})
