import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { SessionService } from "@authwire/proto"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { prepare } from "./access/requests.js"
import { ways } from "./access/ways.js"

// AccessSession reads and may write. These tests check the scopes that it requires, and when the audit log has a line
// for it.
describe("AccessSession", () => {
  let database: TestDatabase
  let server: ServerProcess
  let file: string
  const all = staticKey(["all"])
  const reader = staticKey(["sessions:read"])
  const writer = staticKey(["sessions:write"])
  const both = staticKey(["sessions:read", "sessions:write"])

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    const folder = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `audit-${crypto.randomUUID()}`)
    mkdirSync(folder)
    file = join(folder, "log")
    server = await startServer({
      databaseUrl: database.url,
      keys: false,
      args: [`--audit-log=${file}`, "--log-level=silent"],
      env: { AUTHWIRE_API_KEYS: JSON.stringify([all, reader, writer, both].map(({ entry }) => entry)) },
    })
    // Creates the session "here" of the user "here", which expires in 2099.
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
    await prepare(client)
    client.close()
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  const century = { maxAge: { seconds: 3_153_600_000n }, updateAge: { seconds: 3_600n } }
  const month = { maxAge: { seconds: 2_592_000n }, updateAge: {} }
  const carriers = ways.filter((way) => way.carries(SessionService.method.accessSession))
  const call = (way: (typeof ways)[number], key: string, request: object, id: string = crypto.randomUUID()) =>
    way.call(server, SessionService.method.accessSession, request, {
      authorization: `Bearer ${key}`,
      "x-request-id": id,
    })
  const rows = async () => JSON.stringify(await database.query("SELECT * FROM sessions"))
  const lines = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  describe.each(carriers.map((way) => [way.name, way] as const))("over %s", (_, way) => {
    test.each([
      ["sessions:read alone", reader, "sessions:write"],
      ["sessions:write alone", writer, "sessions:read"],
    ])("a key with %s is rejected, and nothing is written", async (_, key, scope) => {
      const before = await rows()
      const rejected = { code: "PermissionDenied", reason: "SCOPE_MISSING", scope }
      expect(await call(way, key.text, { sessionToken: "here", extend: century })).toEqual(rejected)
      expect(await rows()).toBe(before)
    })

    test("a key with both scopes is accepted", async () => {
      const { code, reason } = await call(way, both.text, { sessionToken: "here", extend: month })
      expect([code, reason]).toEqual(["OK", undefined])
    })
  })

  test("the audit log has a line for a session that was extended, and none for one that was only read", async () => {
    const [way] = carriers as [(typeof ways)[number]]
    const ids = { read: "read", missing: "missing", wrong: "wrong", extended: "extended", again: "again", last: "last" }
    await call(way, all.text, { sessionToken: "here", extend: month }, ids.read)
    await call(way, all.text, { sessionToken: "nowhere", extend: century }, ids.missing)
    await call(way, all.text, { sessionToken: "here", extend: {} }, ids.wrong)
    await call(way, all.text, { sessionToken: "here", extend: century }, ids.extended)
    await call(way, all.text, { sessionToken: "here", extend: century }, ids.again)
    await call(way, writer.text, { sessionToken: "here", extend: century }, ids.last)
    await until(() => lines().some((line) => line.request_id === ids.last))
    const told = lines().filter(({ request_id: id }) => Object.values(ids).includes(id as string))
    expect(told.map(({ request_id, subject, code, reason }) => [request_id, subject, code, reason])).toEqual([
      ["wrong", undefined, "INVALID_ARGUMENT", "INVALID_FIELD"],
      ["extended", "here", "OK", undefined],
      ["last", undefined, "PERMISSION_DENIED", "SCOPE_MISSING"],
    ])
  })
})
