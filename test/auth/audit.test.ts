import { once } from "node:events"
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { AccountType, SessionService, subject as subjectOption, TokenService, UserService } from "@authwire/proto"
import { frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { until } from "@authwire/test-support/until.js"
import { getOption } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level, timestampFromDate } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { prepare, telling } from "./access/requests.js"
import { ways } from "./access/ways.js"

type Line = Record<string, unknown>
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const [unary] = ways as [(typeof ways)[number]]

const folder = () => {
  const path = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `audit-${crypto.randomUUID()}`)
  mkdirSync(path)
  return path
}
const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

// Methods that read, or only forward other calls. A new method that writes must declare its subject, or be listed here.
const aboutNobody = [
  "CreateApiKey",
  "RevokeApiKey",
  "UpdateSessionPolicy",
  "RevokeAllSessions",
  "CreateTenant",
  "CreateVerificationToken",
  "UseVerificationToken",
]
const reads = unaryMethods
  .filter(
    ({ name, idempotency }) =>
      idempotency === Level.NO_SIDE_EFFECTS || ["GetSessionAndUser", "Introspect", "Check"].includes(name),
  )
  .map(({ name }) => name)

test("every method that writes declares its subject", () => {
  const silent = unaryMethods.filter((method) => getOption(method, subjectOption) === "").map(({ name }) => name)
  expect(silent.filter((name) => !reads.includes(name))).toEqual(aboutNobody)
})

describe("the audit log", () => {
  let database: TestDatabase
  let server: ServerProcess
  let file: string
  let client: AuthwireClient
  // Gives tokens to every caller, so that every method that writes can succeed.
  const provider = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ access_token: "new", token_type: "bearer", expires_in: 3600 }))
  })
  const all = staticKey(["all", "users:private", "keys:write", "session-policy:write", "tenants:read", "tenants:write"])
  const mayRead = staticKey(["users:read"])
  const lines = () => linesOf(readFileSync(file, "utf8"))
  /** Waits for the line of a request, and checks that it is the only one. */
  const lineOf = async (id: string): Promise<Line> => {
    await until(() => lines().some((line) => line.request_id === id))
    const found = lines().filter((line) => line.request_id === id)
    expect(found).toHaveLength(1)
    return found[0] as Line
  }
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    file = join(folder(), "log")
    provider.listen(0, "127.0.0.1")
    await once(provider, "listening")
    const token_endpoint = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const providers = join(folder(), "providers.json")
    writeFileSync(
      providers,
      JSON.stringify({ default: { p: { token_endpoint, client_id: "x", auth_method: "none" } } }),
    )
    server = await startServer({
      databaseUrl: database.url,
      keys: false,
      args: [`--audit-log=${file}`, "--log-level=silent", `--providers-file=${providers}`],
      env: { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, mayRead.entry]) },
    })
    client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
    await prepare(client)
  })
  afterAll(async () => {
    client.close()
    await server.stop()
    provider.closeAllConnections()
    provider.close()
    await database.drop()
  })

  test("S-18: has a line for each write, with key, tenant, subject and outcome; none for a read", async () => {
    const expected: Record<string, string | undefined> = {
      CreateUser: "intruder",
      UpdateUser: "here",
      LinkAccount: "here",
      UnlinkAccount: "here",
      GetAccessToken: "other",
      CreateSession: "here",
      UpdateSession: "here",
      AccessSession: "here",
      DeleteSession: "here",
      RevokeUserSessions: "here",
      RevokeSessions: "here",
      CreateAuthenticator: "here",
      UpdateAuthenticatorCounter: "here",
      UpdateAuthenticator: "here",
      DeleteAuthenticator: "here",
      Encode: "x",
      DisableUser: "here",
      EnableUser: "blocked",
      DeleteUser: "here",
      RevokeAllSessions: undefined,
      UpdateSessionPolicy: undefined,
    }
    const session = { session_id: expect.stringMatching(/^[0-9A-F]{32}$/) }
    const more: Record<string, object> = {
      CreateSession: session,
      UpdateSession: session,
      AccessSession: session,
      DeleteSession: session,
      RevokeUserSessions: { revoked: 1 },
      RevokeAllSessions: { provider: "q" },
      CreateApiKey: { api_key_id: expect.stringMatching(/^[a-z0-9]{16}$/) },
      CreateTenant: { tenant_name: "intruder", api_key_id: expect.stringMatching(/^[a-z0-9]{16}$/) },
    }
    // Methods that delete the rows of other methods are called last.
    const { deleteSession, revokeUserSessions, revokeSessions } = SessionService.method
    const { disableUser, deleteUser } = UserService.method
    const last = [deleteSession, revokeUserSessions, revokeSessions, disableUser, deleteUser]
    const order = [...unaryMethods.filter((method) => !last.some(({ name }) => name === method.name)), ...last]
    for (const method of order) {
      const id = crypto.randomUUID()
      const header = { ...bearer(all.text), "x-request-id": id }
      const { code, reason } = await unary.call(server, method, telling(method.name), header)
      if (reads.includes(method.name)) continue
      expect([method.name, code, reason]).toEqual([method.name, "OK", undefined])
      expect(await lineOf(id)).toEqual({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: "audit",
        key: all.id,
        tenant: "default",
        method: `${method.parent.typeName}/${method.name}`,
        ...(expected[method.name] === undefined ? {} : { subject: expected[method.name] }),
        ...more[method.name],
        code: "OK",
        request_id: id,
      })
    }
    expect(lines().filter(({ method }) => reads.includes(String(method).split("/")[1] as string))).toEqual([])
  })

  describe("the user and the sessions that begin and end", () => {
    const expires = timestampFromDate(new Date("2100-01-01T00:00:00Z"))
    type Options = { headers: Record<string, string> }

    /** Creates users with sessions. Returns the session ids of each. */
    async function signedIn(count: number, ...userIds: string[]) {
      const { users, sessions } = client
      const handles = userIds.map(async (userId) => {
        await users.createUser({ id: userId })
        const made = Array.from({ length: count }, () => ({ userId, sessionToken: crypto.randomUUID(), expires }))
        const created = await Promise.all(made.map((one) => sessions.createSession(one)))
        return created.map(({ session }) => session?.id as string)
      })
      return await Promise.all(handles)
    }
    /** Makes a call that succeeds. Expects one line for each of `told`, with these fields. */
    async function logs(method: string, call: (options: Options) => Promise<unknown>, ...told: object[]) {
      const id = crypto.randomUUID()
      await call({ headers: { "x-request-id": id } })
      const found = () => lines().filter(({ request_id }) => request_id === id)
      await until(() => found().length >= told.length)
      const common = { time: expect.any(String), event: "audit", key: all.id, tenant: "default", code: "OK" }
      const name = `authwire.v1.${method}`
      expect(found()).toEqual(told.map((one) => ({ ...common, method: name, request_id: id, ...one })))
    }

    test("RevokeSession: the user and the session id, also if repeated; neither for a missing session or one of another user", async () => {
      const { sessions } = client
      const [[mine, other] = []] = await signedIn(2, "owner")
      const key = { "idempotency-key": crypto.randomUUID() }
      const ofMine = { subject: "owner", session_id: mine }
      const repeatable = ({ headers }: Options) =>
        sessions.revokeSession({ id: String(mine), userId: "owner" }, { headers: { ...headers, ...key } })
      const name = "SessionService/RevokeSession"
      await logs(name, (options) => sessions.revokeSession({ id: String(mine), userId: "stranger" }, options), {})
      await logs(name, repeatable, ofMine)
      await logs(name, repeatable, ofMine)
      await logs(name, (options) => sessions.revokeSession({ id: String(mine) }, options), {})
      const ofOther = { subject: "owner", session_id: other }
      await logs(name, (options) => sessions.revokeSession({ id: String(other) }, options), ofOther)
    })

    test("RevokeUserSessions and RevokeSessions: each processed user, and the number of sessions", async () => {
      const { sessions } = client
      await signedIn(3, "one", "two")
      const one = (options: Options) => sessions.revokeUserSessions({ userId: "one" }, options)
      await logs("SessionService/RevokeUserSessions", one, { subject: "one", revoked: 3 })
      await logs(
        "SessionService/RevokeSessions",
        (options) => sessions.revokeSessions({ userIds: ["one", "two", "a b"] }, options),
        ...["one", "two", "sha256:c8687a08aa5d6ed2"].map((subject) => ({ subject, revoked: 3 })),
      )
      // More than one call deletes.
      await signedIn(1, "many")
      await database.query(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1200)
        INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id)
        SELECT 'default', randomblob(32), 'many', '2100-01-01 00:00:00.000', '{}', hex(randomblob(16)) FROM n`)
      const many = async (options: Options) => {
        const answer = await sessions.revokeSessions({ userIds: ["many", "here"] }, options)
        expect(answer).toMatchObject({ processed: 1, more: true, revoked: 1201n })
      }
      await logs("SessionService/RevokeSessions", many, { subject: "many", revoked: 1201 })
    })

    test.each([
      ["staff:7", "staff:7"],
      ["ada@example.com", "sha256:b5fc85e55755f9e0"],
    ])(
      "CreateSession with the impersonator %s: who that is, as a hash if it could be an address",
      async (impersonator, shown) => {
        const [userId, id] = [crypto.randomUUID(), { session_id: expect.stringMatching(/^[0-9A-F]{32}$/) }]
        await signedIn(0, userId)
        const request = { sessionToken: crypto.randomUUID(), userId, expires, impersonator }
        const create = (options: Options) => client.sessions.createSession(request, options)
        await logs("SessionService/CreateSession", create, { subject: userId, ...id, impersonator: shown })
      },
    )

    test("UpdateUser and UnlinkAccount that delete sessions: the number of sessions", async () => {
      const { users, accounts } = client
      await signedIn(2, "changing", "unlinking")
      const account = { provider: "p", providerAccountId: "unlinking" }
      await accounts.linkAccount({ ...account, userId: "unlinking", type: AccountType.OAUTH })
      const change = { id: "changing", email: "new@example.com", updateMask: { paths: ["email"] } }
      const update = (options: Options) => users.updateUser({ ...change, revokeSessionsOnEmailChange: true }, options)
      await logs("UserService/UpdateUser", update, { subject: "changing", revoked_sessions: 2 })
      const unlink = (options: Options) => accounts.unlinkAccount({ ...account, revokeSessions: true }, options)
      await logs("AccountService/UnlinkAccount", unlink, { subject: "unlinking", revoked_sessions: 2 })
    })

    test("AccessSession: a line for a session that was extended, and none for one that was only read", async () => {
      const [userId, sessionToken] = ["visitor", crypto.randomUUID()]
      await signedIn(0, userId)
      const { session } = await client.sessions.createSession({ sessionToken, userId, expires })
      const access = (years: bigint, token: string = sessionToken) => {
        const extend = { maxAge: { seconds: years * 31_536_000n }, updateAge: { seconds: 3_600n } }
        return (options: Options) => client.sessions.accessSession({ sessionToken: token, extend }, options)
      }
      await access(1n)({ headers: {} })
      await access(100n, "none")({ headers: {} }).catch(() => {})
      const extended = { subject: userId, session_id: session?.id }
      await logs("SessionService/AccessSession", access(100n), extended)
      await access(100n)({ headers: {} })
      // Lines are written in order.
      await signedIn(0, "last")
      await until(() => lines().some(({ subject }) => subject === "last"))
      const found = lines().filter(({ method }) => method === "authwire.v1.SessionService/AccessSession")
      expect(found.slice(-1)).toMatchObject([extended])
      expect(found.filter(({ subject }) => subject !== "here")).toHaveLength(1)
    })
  })

  test("names a call of a pipeline by its own id, and the key of its stream", async () => {
    const stream = openBarePipeline(server.grpcUrl, bearer(mayRead.text))
    const ids = [crypto.randomUUID(), crypto.randomUUID()] as const
    const header = (id: string) => ({ header: { "x-request-id": id, ...bearer(all.text) } })
    stream.send({
      calls: [
        frame(1, UserService.method.deleteUser, { id: "here" }, header(ids[0])),
        frame(2, UserService.method.getUser, { id: "here" }, header(ids[1])),
      ],
    })
    await stream.answers(2)
    stream.cancel()
    expect(await lineOf(ids[0])).toMatchObject({ key: mayRead.id, code: "PERMISSION_DENIED", reason: "SCOPE_MISSING" })
    expect(lines().filter(({ request_id }) => request_id === ids[1])).toEqual([])
  })

  test.each([
    ["nobody", /^nobody$/],
    ["ada@example.com", /^sha256:b5fc85e55755f9e0$/],
    ["a b", /^sha256:c8687a08aa5d6ed2$/],
    ["x".repeat(129), /^sha256:[0-9a-f]{16}$/],
    ["{}\n", /^sha256:[0-9a-f]{16}$/],
  ])("logs how a write failed, and hides a subject that could be an address: %j", async (id, subject) => {
    const header = { ...bearer(all.text), "x-request-id": crypto.randomUUID() }
    await unary.call(server, UserService.method.deleteUser, { id }, header)
    const outcome = { code: "NOT_FOUND", reason: "USER_NOT_FOUND", subject: expect.stringMatching(subject) }
    expect(await lineOf(header["x-request-id"])).toMatchObject(outcome)
  })

  test.each([
    [UserService.method.createUser, { id: "", email: "hunter2@" }],
    [SessionService.method.revokeSessions, { userIds: [] }],
  ])("logs a write that breaks a rule: $name", async (method, request) => {
    const header = { ...bearer(all.text), "x-request-id": crypto.randomUUID() }
    await unary.call(server, method, request, header)
    const line = await lineOf(header["x-request-id"])
    expect(line).toMatchObject({ code: "INVALID_ARGUMENT", reason: "INVALID_FIELD" })
    expect(line).not.toHaveProperty("subject")
  })

  test("logs rejected calls, also reads: a revoked key by its id", async () => {
    const revoked = await createKey(database, "all")
    await revokeKey(database, revoked)
    const { decode } = TokenService.method
    await until(async () => (await unary.call(server, decode, {}, bearer(revoked.text))).reason === "API_KEY_INVALID")
    const invalid = { code: "UNAUTHENTICATED", reason: "API_KEY_INVALID" }
    const missing = { code: "PERMISSION_DENIED", reason: "SCOPE_MISSING", key: mayRead.id, tenant: "default" }
    const tries: [Record<string, string>, object][] = [
      [{}, { code: "UNAUTHENTICATED", reason: "API_KEY_MISSING" }],
      [bearer("hunter2"), invalid],
      [bearer(revoked.text), { ...invalid, claimed_key: revoked.id }],
      [bearer(mayRead.text), missing],
    ]
    for (const [header, line] of tries) {
      const id = crypto.randomUUID()
      const { getSessionAndUser } = SessionService.method
      await unary.call(server, getSessionAndUser, { sessionToken: "hunter2" }, { ...header, "x-request-id": id })
      const method = "authwire.v1.SessionService/GetSessionAndUser"
      expect(await lineOf(id)).toEqual({ time: expect.any(String), event: "audit", method, request_id: id, ...line })
    }
    // An invalid token is not a rejected caller.
    await unary.call(server, decode, { token: "x", salt: "s" }, { ...bearer(all.text), "x-request-id": "a-token" })
    const id = crypto.randomUUID()
    await unary.call(server, UserService.method.deleteUser, {}, { ...bearer(all.text), "x-request-id": id })
    await lineOf(id)
    expect(readFileSync(file, "utf8")).not.toMatch(/hunter2|example\.com|a-token/)
  })

  test("is not flooded by rejected calls: beyond ten per second they are only counted", async () => {
    const counted = () => lines().filter(({ key }) => key === mayRead.id)
    const before = counted().length
    const count = 500
    const call = () => unary.call(server, UserService.method.deleteUser, { id: "here" }, bearer(mayRead.text))
    await Promise.all(Array.from({ length: count }, call))
    const told = () => counted().slice(before)
    const sum = () => told().reduce((total, line) => total + Number(line.count ?? 1), 0)
    await until(() => sum() === count)
    expect(told().length).toBeLessThan(60)
    expect(told().filter((line) => "count" in line)[0]).toEqual({
      time: expect.any(String),
      event: "audit",
      key: mayRead.id,
      tenant: "default",
      code: "PERMISSION_DENIED",
      reason: "SCOPE_MISSING",
      count: expect.any(Number),
    })
  })

  test("can be read by its owner only", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
