import { once } from "node:events"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { SessionService, subject as subjectOption, TokenService, UserService } from "@authwire/proto"
import { frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { until } from "@authwire/test-support/until.js"
import { getOption } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { clientId, type Issuer, logout, startIssuer } from "../signals/issuer.js"
import { prepare, telling } from "./access/requests.js"
import { ways } from "./access/ways.js"
import { type AuditedService, auditFolder, type Line, startAudited } from "./audited-service.js"

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const [unary] = ways as [(typeof ways)[number]]

// Methods that read, or only forward other calls. A new method that writes must declare its subject, or be listed here.
const aboutNobody = [
  "CreateApiKey",
  "RevokeApiKey",
  "UpdateSessionPolicy",
  "RevokeAllSessions",
  "CreateTenant",
  "CreateVerificationToken",
  "UseVerificationToken",
  ...["CreateWebhook", "UpdateWebhook", "DeleteWebhook", "RotateSecret", "SendTest", "Redeliver"],
]
const reads = unaryMethods
  .filter(
    ({ name, idempotency }) =>
      idempotency === Level.NO_SIDE_EFFECTS ||
      ["GetSessionAndUser", "GetLogoutUrl", "Introspect", "Check"].includes(name),
  )
  .map(({ name }) => name)

test("every method that writes declares its subject", () => {
  const silent = unaryMethods.filter((method) => getOption(method, subjectOption) === "").map(({ name }) => name)
  expect(silent.filter((name) => !reads.includes(name))).toEqual(aboutNobody)
})

describe("the audit log", () => {
  let audited: AuditedService
  let issuer: Issuer
  let server: AuditedService["server"]
  let all: AuditedService["all"]
  let mayRead: AuditedService["mayRead"]
  let lines: AuditedService["lines"]
  // Gives tokens to every caller, so that every method that writes can succeed.
  const provider = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ access_token: "new", token_type: "bearer", expires_in: 3600 }))
  })
  /** Waits for the line of a request, and checks that it is the only one. */
  const lineOf = async (id: string): Promise<Line> => {
    await until(() => lines().some((line) => line.request_id === id))
    const found = lines().filter((line) => line.request_id === id)
    expect(found).toHaveLength(1)
    return found[0] as Line
  }
  beforeAll(async () => {
    provider.listen(0, "127.0.0.1")
    await once(provider, "listening")
    issuer = await startIssuer()
    const token_endpoint = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const providers = join(auditFolder(), "providers.json")
    writeFileSync(
      providers,
      JSON.stringify({
        default: {
          p: { token_endpoint, client_id: "x", auth_method: "none" },
          idp: { token_endpoint, issuer: issuer.issuer, client_id: clientId, auth_method: "none", signals: true },
        },
      }),
    )
    audited = await startAudited(`--providers-file=${providers}`)
    ;({ server, all, mayRead, lines } = audited)
    await prepare(audited.client)
  })
  afterAll(async () => {
    await audited?.close()
    issuer.close()
    provider.closeAllConnections()
    provider.close()
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
      ReceiveSignal: { provider: "idp", signal: "logout" },
      CreateApiKey: { api_key_id: expect.stringMatching(/^[a-z0-9]{16}$/) },
      CreateWebhook: { webhook_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
      CreateTenant: { tenant_name: "intruder", api_key_id: expect.stringMatching(/^[a-z0-9]{16}$/) },
    }
    const signal = { provider: "idp", token: await issuer.sign(logout({ sid: "unknown" })) }
    // Methods that delete the rows of other methods are called last.
    const { deleteSession, revokeUserSessions, revokeSessions } = SessionService.method
    const { disableUser, deleteUser } = UserService.method
    const last = [deleteSession, revokeUserSessions, revokeSessions, disableUser, deleteUser]
    const order = [...unaryMethods.filter((method) => !last.some(({ name }) => name === method.name)), ...last]
    for (const method of order) {
      const id = crypto.randomUUID()
      const header = { ...bearer(all.text), "x-request-id": id }
      const request = method.name === "ReceiveSignal" ? signal : telling(method.name)
      const { code, reason } = await unary.call(server, method, request, header)
      if (reads.includes(method.name)) continue
      expect([method.name, code, reason]).toEqual([method.name, "OK", undefined])
      expect(await lineOf(id)).toEqual({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: "audit",
        key: all.id,
        key_name: all.entry.name,
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
    const revoked = await createKey(audited.database, "all")
    await revokeKey(audited.database, revoked)
    const { decode } = TokenService.method
    await until(async () => (await unary.call(server, decode, {}, bearer(revoked.text))).reason === "API_KEY_INVALID")
    const invalid = { code: "UNAUTHENTICATED", reason: "API_KEY_INVALID" }
    const key = { key: mayRead.id, key_name: mayRead.entry.name, tenant: "default" }
    const missing = { code: "PERMISSION_DENIED", reason: "SCOPE_MISSING", ...key }
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
    expect(readFileSync(audited.file, "utf8")).not.toMatch(/hunter2|example\.com|a-token/)
  })

  test("is not flooded by rejected calls: beyond ten per second they are only counted", async () => {
    const counted = () => lines().filter(({ key }) => key === mayRead.id)
    const before = counted().length
    const count = 500
    const call = () => unary.call(server, UserService.method.deleteUser, { id: "here" }, bearer(mayRead.text))
    const begun = performance.now()
    await Promise.all(Array.from({ length: count }, call))
    const told = () => counted().slice(before)
    const sum = () => told().reduce((total, line) => total + Number(line.count ?? 1), 0)
    await until(() => sum() === count)
    const seconds = (performance.now() - begun) / 1_000
    expect(told().length).toBeLessThan(count)
    // With the line that counts the others.
    expect(told().length).toBeLessThanOrEqual((10 + 1) * (seconds + 2))
    expect(told().filter((line) => "count" in line)[0]).toEqual({
      time: expect.any(String),
      event: "audit",
      key: mayRead.id,
      key_name: mayRead.entry.name,
      tenant: "default",
      method: "authwire.v1.UserService/DeleteUser",
      code: "PERMISSION_DENIED",
      reason: "SCOPE_MISSING",
      count: expect.any(Number),
    })
  })

  test("names what a key tries, however many other calls of it are refused", async () => {
    const { disableUser } = UserService.method
    const { encode } = TokenService.method
    const noise = () => unary.call(server, encode, telling(encode.name), bearer(mayRead.text))
    await Promise.all(Array.from({ length: 100 }, noise))
    const header = { ...bearer(mayRead.text), "x-request-id": crypto.randomUUID() }
    await unary.call(server, disableUser, telling(disableUser.name), header)
    const line = { method: "authwire.v1.UserService/DisableUser", reason: "SCOPE_MISSING" }
    expect(await lineOf(header["x-request-id"])).toMatchObject(line)
  })

  test("can be read by its owner only", () => {
    expect(statSync(audited.file).mode & 0o777).toBe(0o600)
  })
})
