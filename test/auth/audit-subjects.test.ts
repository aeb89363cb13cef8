import { AccountType } from "@authwire/proto"
import { until } from "@authwire/test-support/until.js"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type AuditedService, startAudited } from "./audited-service.js"

describe("the audit log: the user and the sessions that begin and end", () => {
  let audited: AuditedService
  beforeAll(async () => {
    audited = await startAudited()
  })
  afterAll(() => audited?.close())
  const expires = timestampFromDate(new Date("2100-01-01T00:00:00Z"))
  type Options = { headers: Record<string, string> }

  /** Creates users with sessions. Returns the session ids of each. */
  async function signedIn(count: number, ...userIds: string[]) {
    const { users, sessions } = audited.client
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
    const found = () => audited.lines().filter(({ request_id }) => request_id === id)
    await until(() => found().length >= told.length)
    const key = { key: audited.all.id, key_name: audited.all.entry.name, tenant: "default" }
    const common = { time: expect.any(String), event: "audit", ...key, code: "OK" }
    const name = `authwire.v1.${method}`
    expect(found()).toEqual(told.map((one) => ({ ...common, method: name, request_id: id, ...one })))
  }

  test("RevokeSession: the user and the session id, also if repeated; neither for a missing session or one of another user", async () => {
    const { sessions } = audited.client
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
    const { sessions } = audited.client
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
    await audited.database.query(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1200)
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
      const create = (options: Options) => audited.client.sessions.createSession(request, options)
      await logs("SessionService/CreateSession", create, { subject: userId, ...id, impersonator: shown })
    },
  )

  test("UpdateUser and UnlinkAccount that delete sessions: the number of sessions", async () => {
    const { users, accounts } = audited.client
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
    const { session } = await audited.client.sessions.createSession({ sessionToken, userId, expires })
    const access = (years: bigint, token: string = sessionToken) => {
      const extend = { maxAge: { seconds: years * 31_536_000n }, updateAge: { seconds: 3_600n } }
      return (options: Options) => audited.client.sessions.accessSession({ sessionToken: token, extend }, options)
    }
    await access(1n)({ headers: {} })
    await access(100n, "none")({ headers: {} }).catch(() => {})
    const extended = { subject: userId, session_id: session?.id }
    await logs("SessionService/AccessSession", access(100n), extended)
    await access(100n)({ headers: {} })
    // Lines are written in order.
    await signedIn(0, "last")
    await until(() => audited.lines().some(({ subject }) => subject === "last"))
    const found = audited.lines().filter(({ method }) => method === "authwire.v1.SessionService/AccessSession")
    expect(found).toMatchObject([extended])
  })
})
