import { mkdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { SessionService, subject as subjectOption, TokenService, UserService } from "@authwire/proto"
import { frame, openBarePipeline } from "@authwire/test-support/bare-pipeline.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases.js"
import { unaryMethods } from "@authwire/test-support/every-method.js"
import { createKey, revokeKey } from "@authwire/test-support/keys.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/server.js"
import { until } from "@authwire/test-support/until.js"
import { getOption } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
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

// Those that read, or only pass others on. A new method that writes has to say whose data it is about, or be added here.
const aboutNobody = ["RevokeSessions", "CreateVerificationToken", "UseVerificationToken"]
const reads = unaryMethods
  .filter((method) => method.idempotency === Level.NO_SIDE_EFFECTS || method.name === "GetSessionAndUser")
  .map(({ name }) => name)

test("every method that writes says whose data it is about", () => {
  const silent = unaryMethods.filter((method) => getOption(method, subjectOption) === "").map(({ name }) => name)
  expect(silent.filter((name) => !reads.includes(name))).toEqual(aboutNobody)
})

describe("the audit log", () => {
  let database: TestDatabase
  let server: ServerProcess
  let file: string
  const all = staticKey(["all"])
  const mayRead = staticKey(["users:read"])
  const lines = () => linesOf(readFileSync(file, "utf8"))
  /** The lines of a request, once there is one. */
  const lineOf = async (id: string): Promise<Line> => {
    await until(() => lines().some((line) => line.request_id === id))
    const found = lines().filter((line) => line.request_id === id)
    expect(found).toHaveLength(1)
    return found[0] as Line
  }
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    file = join(folder(), "log")
    server = await startServer({
      databaseUrl: database.url,
      keys: false,
      args: [`--audit-log=${file}`, "--log-level=silent"],
      env: { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, mayRead.entry]) },
    })
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
    await prepare(client)
    client.close()
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test("has a line for each write over each way, with key, tenant, subject and outcome; none for a read", async () => {
    const expected: Record<string, string | undefined> = {
      CreateUser: "intruder",
      UpdateUser: "here",
      LinkAccount: "here",
      UnlinkAccount: "here",
      CreateSession: "here",
      UpdateSession: "here",
      AccessSession: "here",
      DeleteSession: "here",
      RevokeUserSessions: "here",
      CreateAuthenticator: "here",
      UpdateAuthenticatorCounter: "here",
      Encode: "x",
      DeleteUser: "here",
    }
    // What takes along what others are about comes last.
    const { deleteSession, revokeUserSessions, revokeSessions } = SessionService.method
    const last = [deleteSession, revokeUserSessions, revokeSessions, UserService.method.deleteUser]
    const order = [...unaryMethods.filter((method) => !last.some(({ name }) => name === method.name)), ...last]
    for (const way of ways) {
      const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
      for (const table of ["accounts", "sessions", "authenticators", "verification_tokens", "users"]) {
        await database.query(`DELETE FROM ${table}`)
      }
      await prepare(client)
      client.close()
      for (const method of order) {
        const id = crypto.randomUUID()
        const header = { ...bearer(all.text), "x-request-id": id }
        const { code, reason } = await way.call(server, method, telling(method.name), header)
        if (reads.includes(method.name)) continue
        expect([method.name, code, reason]).toEqual([method.name, "OK", undefined])
        // The pipeline's header is that of its stream, whose id is not the call's.
        if (way.name.includes("pipeline")) continue
        expect(await lineOf(id)).toEqual({
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          event: "audit",
          key: all.id,
          tenant: "default",
          method: `${method.parent.typeName}/${method.name}`,
          ...(expected[method.name] === undefined ? {} : { subject: expected[method.name] }),
          code: "OK",
          request_id: id,
        })
      }
    }
    expect(lines().filter(({ method }) => reads.includes(String(method).split("/")[1] as string))).toEqual([])
    const encodes = lines().filter(({ method }) => method === "authwire.v1.TokenService/Encode")
    expect(encodes).toHaveLength(ways.length)
  })

  test("names a call of a pipeline by its own id, and its stream's key", async () => {
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

  test("tells how a write failed, and hides a subject that could be an address", async () => {
    const id = () => ({ ...bearer(all.text), "x-request-id": crypto.randomUUID() })
    const tries: [header: Record<string, string>, subject: string, shown: string][] = [
      [id(), "nobody", "nobody"],
      [id(), "ada@example.com", "sha256:f0a0b5f06a7e2a9b"],
      [id(), "a b", "sha256:c8687a08aa5d6ed2"],
      [id(), "x".repeat(129), `sha256:`],
      [id(), "{}\n", "sha256:"],
    ]
    for (const [header, subject, shown] of tries) {
      await unary.call(server, UserService.method.deleteUser, { id: subject }, header)
      const line = await lineOf(header["x-request-id"] as string)
      expect(line).toMatchObject({ code: "NOT_FOUND", reason: "USER_NOT_FOUND" })
      expect([subject, String(line.subject).startsWith(shown.slice(0, 7))]).toEqual([subject, true])
      if (shown.startsWith("sha256")) expect(line.subject).toMatch(/^sha256:[0-9a-f]{16}$/)
    }
    const header = id()
    await unary.call(server, UserService.method.createUser, { id: "", email: "hunter2@" }, header)
    expect(await lineOf(header["x-request-id"] as string)).toMatchObject({ code: "INVALID_ARGUMENT" })
    expect(readFileSync(file, "utf8")).not.toMatch(/hunter2|example\.com/)
  })

  test("tells of rejected calls, reads too: who comes with a revoked key, by its id", async () => {
    const revoked = await createKey(database, "all")
    await revokeKey(database, revoked)
    const { decode } = TokenService.method
    const isRevoked = async () =>
      (await unary.call(server, decode, {}, bearer(revoked.text))).reason === "API_KEY_INVALID"
    await until(isRevoked)
    const tries: [Record<string, string>, object][] = [
      [{}, { code: "UNAUTHENTICATED", reason: "API_KEY_MISSING" }],
      [bearer("hunter2"), { code: "UNAUTHENTICATED", reason: "API_KEY_INVALID" }],
      [bearer(revoked.text), { code: "UNAUTHENTICATED", reason: "API_KEY_INVALID", claimed_key: revoked.id }],
      [
        bearer(mayRead.text),
        { code: "PERMISSION_DENIED", reason: "SCOPE_MISSING", key: mayRead.id, tenant: "default" },
      ],
    ]
    for (const [header, line] of tries) {
      const id = crypto.randomUUID()
      const { getSessionAndUser } = SessionService.method
      await unary.call(server, getSessionAndUser, { sessionToken: "hunter2" }, { ...header, "x-request-id": id })
      expect(await lineOf(id)).toEqual({
        time: expect.any(String),
        event: "audit",
        method: "authwire.v1.SessionService/GetSessionAndUser",
        request_id: id,
        ...line,
      })
    }
    expect(readFileSync(file, "utf8")).not.toContain("hunter2")
    // A token that is no good is not a caller that is rejected.
    const before = lines().length
    await unary.call(server, TokenService.method.decode, { token: "x", salt: "s" }, bearer(all.text))
    const id = crypto.randomUUID()
    await unary.call(
      server,
      UserService.method.deleteUser,
      { id: "nobody" },
      { ...bearer(all.text), "x-request-id": id },
    )
    await lineOf(id)
    expect(lines()).toHaveLength(before + 1)
  })

  test("is not flooded by rejected calls: beyond ten a second they are counted", async () => {
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

  test("is for its owner only", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
