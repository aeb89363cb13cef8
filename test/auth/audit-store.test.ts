import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { ApiKeyService, type AuditEntry, AuditService, UserService } from "@authwire/proto"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createKey, type TestKey } from "@authwire/test-support/processes/keys.js"
import { run, type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { until } from "@authwire/test-support/until.js"
import { type Client, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { prepare, telling } from "./access/requests.js"
import { ways } from "./access/ways.js"
import { auditFolder, linesOf } from "./audited-service.js"

const [unary] = ways as [(typeof ways)[number]]
const bearer = ({ text }: TestKey) => ({ authorization: `Bearer ${text}` })

describe("--audit-store=database", () => {
  let database: TestDatabase
  let server: ServerProcess
  let client: AuthwireClient
  let all: TestKey
  let reader: TestKey
  let audit: Client<typeof AuditService>
  const file = join(auditFolder(), "log")
  const args = ["--audit-store=database", `--audit-log=${file}`]

  beforeAll(async () => {
    database = await createDatabase(serviceDatabase())
    server = await startServer({ databaseUrl: database.url, keys: true, args })
    all = await createKey(database, "all")
    reader = await createKey(database, "audit:read")
    client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
    await prepare(client)
    audit = createClient(AuditService, createGrpcTransport({ baseUrl: server.grpcUrl }))
  })
  afterAll(async () => {
    client.close()
    await server.stop()
    await database.drop()
  })

  type Filter = Parameters<typeof audit.listAuditEntries>[0]["filter"]
  const list = async (filter?: Filter) =>
    (await audit.listAuditEntries({ pageSize: 1000, ...(filter && { filter }) }, { headers: bearer(reader) })).entries
  const lines = () => linesOf(readFileSync(file, "utf8")).filter(({ tenant }) => tenant !== undefined)
  /** Returns an entry in the form of a line. */
  const lineOf = (entry: AuditEntry) => ({
    key: entry.keyId,
    key_name: entry.keyName,
    method: entry.method || undefined,
    subject: entry.userId,
    ...entry.fields,
    code: entry.code,
    reason: entry.reason || undefined,
    request_id: entry.requestId || undefined,
    count: entry.count > 0n ? Number(entry.count) : undefined,
  })

  test("has the same entries as the audit log, for every method and for rejected calls", async () => {
    for (const method of unaryMethods) {
      const outcome = await unary.call(server, method, telling(method.name), bearer(all))
      // A write that has succeeded has its entry when it is answered.
      if (outcome.code === "OK" && method.name === "UpdateUser")
        expect(await list({ case: "method", value: `authwire.v1.UserService/UpdateUser` })).toHaveLength(1)
    }
    await unary.call(server, UserService.method.deleteUser, { id: "nobody" }, bearer(all))
    await unary.call(server, UserService.method.deleteUser, telling("DeleteUser"), bearer(reader))
    // Of more than ten refused calls within a second, the others have a summary.
    const refused = ApiKeyService.method.createApiKey
    await Promise.all(Array.from({ length: 40 }, () => unary.call(server, refused, telling(refused.name), bearer(all))))
    const ofLines = () => lines().map(({ time: _, event: __, tenant: ___, trace_id: ____, ...line }) => line)
    const inOrder = (lines: object[]) => lines.map((line) => JSON.stringify(Object.entries(line).sort())).sort()
    let entries: AuditEntry[] = []
    let told: object[] = []
    // A line is written before its entry.
    await until(async () => {
      entries = await list()
      told = ofLines()
      return entries.length === told.length && entries.some(({ count }) => count > 0)
    })
    expect(inOrder(entries.map((entry) => JSON.parse(JSON.stringify(lineOf(entry)))))).toEqual(inOrder(told))
    // No provider is configured for the signal.
    const codes = ["FAILED_PRECONDITION", "NOT_FOUND", "OK", "PERMISSION_DENIED"]
    expect([...new Set(entries.map(({ code }) => code))].toSorted()).toEqual(codes)
  })

  test("lists by user, key and method; an id that may be an address is stored as its hash", async () => {
    const id = "zoe@example.com"
    await client.users.createUser({ id })
    const [entry, ...others] = await list({ case: "userId", value: id })
    expect(others).toEqual([])
    expect(entry).toMatchObject({ keyId: all.id, method: "authwire.v1.UserService/CreateUser", code: "OK" })
    expect(entry?.userId).toMatch(/^sha256:[0-9a-f]{16}$/)
    const ofReader = await list({ case: "keyId", value: reader.id })
    expect(ofReader.map(({ reason }) => reason)).toEqual(["SCOPE_MISSING"])
    const rows = await database.query("SELECT * FROM audit_entries")
    expect(JSON.stringify(rows, (_, value) => (Buffer.isBuffer(value) ? String(value) : value))).not.toContain("zoe")
  })

  test("a call that is repeated with its idempotency key has an entry of its own, as it has a line", async () => {
    const headers = { ...bearer(all), "idempotency-key": crypto.randomUUID() }
    for (const _ of [1, 2]) await unary.call(server, UserService.method.createUser, { id: "twice" }, headers)
    await until(async () => (await list({ case: "userId", value: "twice" })).length === 2)
  })

  test("another tenant sees none of them", async () => {
    await run(["tenants", "create", "acme"], { AUTHWIRE_DATABASE_URL: database.url })
    const foreign = await createKey(database, "audit:read", "--tenant=acme")
    for (const filter of [undefined, { case: "userId" as const, value: "twice" }]) {
      const { entries } = await audit.listAuditEntries({ ...(filter && { filter }) }, { headers: bearer(foreign) })
      expect(entries).toEqual([])
    }
  })

  test("authwire audit prints them", async () => {
    const env = { AUTHWIRE_URL: server.grpcUrl, AUTHWIRE_API_KEY: reader.text }
    const { code, stdout, stderr } = await run(["audit", "--user=twice"], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(
      new RegExp(
        `^time +key +key name +method +user +result +more\n\\S+Z +${all.id} +of the tests +UserService/CreateUser +twice +OK\n`,
      ),
    )
    const json = await run(["audit", "--method=UserService.CreateUser", "--within=1h", "--limit=1", "--json"], env)
    expect(JSON.parse(json.stdout)).toMatchObject({ method: "authwire.v1.UserService/CreateUser", code: "OK" })
    expect(await run(["audit", "--user=a", "--key=b"], env)).toMatchObject({
      code: 2,
      stderr: "authwire: --user, --key, --method: only one of them may be given\n",
    })
  })

  test("each write that is committed has its entry, and no other, even if the process is killed", async () => {
    // One process owns a database of SQLite.
    const other = await createDatabase(serviceDatabase())
    const doomed = await startServer({ databaseUrl: other.url, keys: true, args })
    const own = createAuthwireClient({ url: doomed.grpcUrl, apiKey: doomed.apiKey })
    let count = 0
    const writers = Array.from({ length: 20 }, async () => {
      for (;;) await own.users.createUser({ id: `killed-${count++}` })
    })
    const ended = Promise.allSettled(writers)
    await until(() => count > 300)
    await doomed.stop("SIGKILL")
    await ended
    own.close()
    const texts = async (sql: string) => (await other.query(sql)).map(({ text }) => String(text)).sort()
    const users = await texts("SELECT id AS text FROM users")
    expect(users.length).toBeGreaterThan(250)
    expect(await texts("SELECT subject AS text FROM audit_entries")).toEqual(users)
    await other.drop()
  })
})
