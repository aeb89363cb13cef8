import { once } from "node:events"
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { SessionPolicyService } from "@authwire/proto"
import {
  createDatabase,
  createDatabaseOn,
  ownServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import {
  authority,
  type CertificateFolder,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { run, type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"

const dayMs = 86_400_000

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase("sqlite")
  await run(["migrate", "up"], { AUTHWIRE_DATABASE_URL: database.url })
})
afterAll(() => database.drop())

const doctor = (env: Record<string, string>, ...args: string[]) =>
  run(["doctor", ...args], { AUTHWIRE_DATABASE_URL: database.url, AUTH_SECRET: testSecret, ...env })

test("a file of SQLite that does not exist is reported and not created", async () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-"))
  const file = join(folder, "none.db")
  const { stdout, code } = await doctor({ AUTHWIRE_DATABASE_URL: `sqlite:${file}` })
  expect(stdout).toMatch(/^wrong +database .*none\.db \(there is no such file\)/m)
  expect(code).toBe(1)
  const source = await doctor({}, "--from=authwire", `--url=sqlite:${file}`)
  expect(source.stderr).toMatch(/^authwire: --url: .*\/none\.db \(there is no such file\): .*correct --url\n$/)
  expect(source.code).toBe(1)
  expect(existsSync(file)).toBe(false)
  rmSync(folder, { recursive: true })
})

test("text that another program has put into SQLite is named, and ends no command", async () => {
  const own = await createDatabase("sqlite")
  const env = { AUTHWIRE_DATABASE_URL: own.url, AUTH_SECRET: testSecret }
  await run(["migrate", "up"], env)
  const insert = "INSERT INTO users (tenant, id, extra, name) VALUES ('default', ?, '{}', CAST(? AS TEXT))"
  for (const [id, hex] of Object.entries({ sound: "c3a9", latin1: "41e9", cut: "410042" })) {
    await own.query(insert, [id, Buffer.from(hex, "hex")])
  }
  const { stdout, code } = await doctor(env)
  expect(stdout).toMatch(/^wrong +text +not UTF-8, or with U\+0000: users\.name at rowid 2, users\.name at rowid 3: /m)
  expect(code).toBe(1)
  const message = "users.name is not UTF-8, or has U+0000, at rowid 2"
  expect(await run(["export"], env)).toMatchObject({ code: 1, stderr: `authwire: --database-url: ${message}\n` })
  const target = { ...env, AUTHWIRE_DATABASE_URL: database.url }
  const from = await run(["import", "--from=authwire", `--url=${own.url}`], target)
  expect(from).toMatchObject({ code: 1, stderr: `authwire: --url: ${message}\n` })
  await own.query("DELETE FROM users WHERE id <> 'sound'")
  expect((await doctor(env)).stdout).toMatch(/^ok +text +all of it is UTF-8 without U\+0000$/m)
  await own.drop()
})

test("a secret that an application may read in another way is named, and never shown", async () => {
  const env = { AUTH_SECRET: `"${testSecret}"` }
  const { stdout } = await doctor(env)
  expect(stdout).toMatch(
    /^warning +secret +AUTH_SECRET: is in quotes: does the application use exactly the same bytes\?$/m,
  )
  const server = await startServer({ databaseUrl: database.url, env })
  await server.stop()
  expect(server.log()).toContain('"msg":"AUTH_SECRET: is in quotes')
  expect(stdout + server.output() + server.log()).not.toContain(testSecret)
})

test("interrupted sign-ups are listed by their ids, and never by their addresses", async () => {
  const own = await createDatabase("sqlite")
  const server = await startServer({ databaseUrl: own.url })
  const { adapter, users, close } = createAuthwireClient({ url: server.grpcUrl })
  const create = (id: string, emailVerified: Date | null = null) =>
    adapter.createUser({ id, email: `${id}@example.com`, emailVerified })
  const line = async () => {
    const { stdout } = await doctor({ AUTHWIRE_DATABASE_URL: own.url })
    return stdout.split("\n").find((text) => text.includes(" sign-ups "))
  }
  for (const id of ["linked", "signed-in"]) await create(id)
  await adapter.linkAccount({ userId: "linked", type: "oauth", provider: "p", providerAccountId: "1" })
  await adapter.createSession({ sessionToken: "t", userId: "signed-in", expires: new Date(Date.now() + 1e6) })
  await create("verified", new Date())
  await users.createUser({ id: "without-address" })
  expect(await line()).toMatch(/^ok +sign-ups +none of the last 7 days was interrupted$/)
  for (const id of ["broken-1", "broken-2"]) await create(id)
  const text = await line()
  expect(text).toMatch(/^warning +sign-ups +users of tenant default: broken-1, broken-2 have no account/)
  expect(text).not.toContain("example.com")
  close()
  await server.stop()
  await own.drop()
})

test("an application whose maxAge is as long as max age of the session policy is named, with both", async () => {
  const own = await createDatabase("sqlite")
  const server = await startServer({ databaseUrl: own.url })
  const { adapter, users, close } = createAuthwireClient({ url: server.grpcUrl })
  const policies = createClient(SessionPolicyService, createGrpcTransport({ baseUrl: server.grpcUrl }))
  const limit = (days: number | undefined) =>
    policies.updateSessionPolicy({
      ...(days !== undefined && { maxAge: durationFromMs(days * dayMs) }),
      updateMask: { paths: ["max_age"] },
    })
  await users.createUser({ id: "u" })
  const signIn = (days: number) =>
    adapter.createSession({
      sessionToken: crypto.randomUUID(),
      userId: "u",
      expires: new Date(Date.now() + days * dayMs),
    })
  const line = async () => {
    const { stdout, code } = await doctor({ AUTHWIRE_DATABASE_URL: own.url })
    expect(code).toBe(0)
    return stdout.split("\n").find((text) => text.includes(" session policies "))
  }
  const isWell = /^ok +session policies +no application seems to ask for sessions that last as long as max age$/
  await signIn(30)
  expect(await line()).toMatch(isWell)
  await limit(7)
  expect(await line()).toMatch(
    /^warning +session policies +an application of tenant default asks for sessions of 30d, and max age is 7d: .* Set maxAge of /,
  )
  await own.query("DELETE FROM sessions")
  await signIn(30)
  expect(await line()).toMatch(/ tenant default asks for sessions of 7d or more, and max age is 7d: /)
  const earlier = (column: string) => `${column} = strftime('%Y-%m-%d %H:%M:%f', ${column}, '-1 day')`
  await own.query(`UPDATE sessions SET ${["created", "last_seen", "expires"].map(earlier).join(", ")}`)
  expect(await line()).toMatch(/^warning/)
  await signIn(6)
  expect(await line()).toMatch(isWell)
  // A row that cannot be read says nothing.
  await own.query("UPDATE sessions SET expires = 'x' WHERE created = (SELECT MAX(created) FROM sessions)")
  expect(await line()).toMatch(/^warning/)
  await limit(undefined)
  await signIn(30)
  expect(await line()).toMatch(isWell)
  close()
  await server.stop()
  await own.drop()
}, 60_000)

describe("the options of the adapter", () => {
  test.each<
    [string, boolean | string[], (server: ServerProcess) => Record<string, string | undefined>, RegExp, RegExp]
  >([
    [
      "the gRPC address and a key with all scopes",
      true,
      ({ grpcUrl, apiKey }) => ({ AUTHWIRE_URL: grpcUrl, AUTHWIRE_API_KEY: apiKey }),
      /^ok +url of the adapter +this is the gRPC address, /m,
      /^ok +apiKey of the adapter +the key has every scope that the adapter needs$/m,
    ],
    [
      "the HTTP address",
      true,
      ({ httpUrl, apiKey }) => ({ AUTHWIRE_URL: httpUrl, AUTHWIRE_API_KEY: apiKey }),
      /^warning +url of the adapter +this is the HTTP address, /m,
      /^ok +apiKey of the adapter /m,
    ],
    [
      "no key",
      true,
      ({ grpcUrl }) => ({ AUTHWIRE_URL: grpcUrl }),
      /^ok +url of the adapter /m,
      /^wrong +apiKey of the adapter +the service requires an API key: set AUTHWIRE_API_KEY$/m,
    ],
    [
      "another key",
      true,
      ({ grpcUrl, apiKey }) => ({ AUTHWIRE_URL: grpcUrl, AUTHWIRE_API_KEY: apiKey?.slice(0, -3) }),
      /^ok +url of the adapter /m,
      /^wrong +apiKey of the adapter +the service rejects the key/m,
    ],
    [
      "a key that may do little",
      ["users:read", "users:write", "sessions:read"],
      ({ grpcUrl, apiKey }) => ({ AUTHWIRE_URL: grpcUrl, AUTHWIRE_API_KEY: apiKey }),
      /^ok +url of the adapter /m,
      /^wrong .*the key lacks the scopes accounts:read, accounts:write, sessions:write, verification-tokens:write, auth/m,
    ],
  ])("%s", async (_, keys, env, url, key) => {
    const server = await startServer({ databaseUrl: database.url, keys })
    try {
      const { stdout, stderr, code } = await doctor(env(server) as Record<string, string>)
      expect(stdout).toMatch(url)
      expect(stdout).toMatch(key)
      expect(stdout + stderr).not.toContain("awk_")
      expect(code).toBe(key.source.startsWith("^ok") ? 0 : 1)
    } finally {
      await server.stop()
    }
    // The check has written nothing.
    for (const table of ["users", "accounts", "sessions"]) {
      expect(await database.query(`SELECT COUNT(*) AS n FROM ${table}`)).toEqual([{ n: 0 }])
    }
  })

  test.each([
    ["no URL", "127.0.0.1:50051", /^wrong +url of the adapter +must begin with http/m, 1],
    ["a closed port", "http://127.0.0.1:1", /^wrong +url of the adapter +no Authwire .*ECONNREFUSED/m, 1],
    [
      "dns:///, which only the client understands",
      "dns:///a.example.com:1",
      /^warning +url .*dns:\/\/\/ is not checked/m,
      0,
    ],
  ])("%s is reported", async (_, url, found, exitCode) => {
    const { stdout, code } = await doctor({ AUTHWIRE_URL: url })
    expect(stdout).toMatch(found)
    expect(code).toBe(exitCode)
  })

  test("an address that accepts connections and never answers is found, and the command ends", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1")
    await once(silent, "listening")
    const { port } = silent.address() as AddressInfo
    const { stdout, code } = await doctor({ AUTHWIRE_URL: `https://127.0.0.1:${port}` })
    expect(stdout).toMatch(/^wrong +url of the adapter +no Authwire answers at this address/m)
    expect(code).toBe(1)
    silent.close()
  })
})

describe("TLS", () => {
  let files: CertificateFolder | undefined
  afterEach(() => files?.remove())

  test("an expired certificate is reported, and one that expires soon", async () => {
    const from = Date.now() - 9 * dayMs
    files = certificateFolder(serverCertificate({ from, to: Date.now() - dayMs }))
    const expired = await doctor({}, ...files.args)
    expect(expired.stdout).toMatch(/^wrong +TLS certificate +the certificate has expired: /m)
    expect(expired.code).toBe(1)
    files.write(serverCertificate({ from, to: Date.now() + 3.5 * dayMs }))
    const soon = await doctor({}, ...files.args)
    expect(soon.stdout).toMatch(/^warning +TLS certificate +the certificate expires in 3 days: /m)
    expect(soon.code).toBe(0)
  })

  test("a key file that other users can read is reported, and a key of another certificate", async () => {
    files = certificateFolder(serverCertificate({ to: Date.now() + 90 * dayMs }))
    const well = await doctor({}, ...files.args)
    expect(well.stdout).toMatch(/^ok +TLS key +\S+ has the mode 0600$/m)
    expect(well.code).toBe(0)
    chmodSync(files.keyFile, 0o644)
    const open = await doctor({}, ...files.args)
    expect(open.stdout).toMatch(/^wrong +TLS key +\S+ has the mode 0644: other users can read it: use chmod 600$/m)
    expect(open.code).toBe(1)
    files.write({ cert: serverCertificate().cert, key: serverCertificate().key })
    const other = await doctor({}, ...files.args)
    expect(other.stdout).toMatch(/^wrong +TLS +\S+: is not the key of the first certificate$/m)
    expect(other.code).toBe(1)
  })

  test("an untrusted authority is reported", async () => {
    files = certificateFolder(serverCertificate())
    const server = await startServer({ databaseUrl: database.url, args: files.args })
    const folder = mkdtempSync(join(tmpdir(), "authwire-doctor-"))
    const trusting = async ({ cert }: { cert: string }) => {
      writeFileSync(join(folder, "ca.crt"), cert)
      return doctor({ AUTHWIRE_URL: server.grpcUrl, NODE_EXTRA_CA_CERTS: join(folder, "ca.crt") })
    }
    try {
      const wrong = await trusting(stranger)
      expect(wrong.stdout).toMatch(
        /^wrong +url of the adapter +the certificate is not trusted \([A-Z_]+\): set NODE_EXTRA_CA_CERTS/m,
      )
      expect(wrong.code).toBe(1)
      const right = await trusting(authority)
      expect(right.stdout).toMatch(/^ok +url of the adapter +this is the gRPC address/m)
      expect(right.code).toBe(0)
    } finally {
      rmSync(folder, { recursive: true })
      await server.stop()
    }
  })
})

// The variables are those of MySQL and MariaDB.
const engine = ownServer(["mysql", "mariadb"])
;(engine === undefined ? describe.skip : describe)("settings of the database", () => {
  test("small packets, commits that a crash loses, a read-only server, and a wrong clock", async () => {
    const server = await startPrivateDatabase(engine)
    if (server === null) throw new Error("no server")
    try {
      const own = await createDatabaseOn(server)
      await run(["migrate", "up"], { AUTHWIRE_DATABASE_URL: own.url })
      const env = { AUTHWIRE_DATABASE_URL: own.url }
      const before = await doctor(env)
      expect(before.stdout).toMatch(/^ok +max_allowed_packet +\d+$/m)
      expect(before.stdout).toMatch(/^warning +innodb_flush_log_at_trx_commit +2: should be 1/m)
      expect(before.stdout).toMatch(/^ok +clock /m)
      expect(before.code).toBe(0)

      await own.query("SET GLOBAL max_allowed_packet = 1048576")
      const small = await doctor(env)
      expect(small.stdout).toMatch(/^wrong +max_allowed_packet +1048576: must be at least 4194304: /m)
      expect(small.code).toBe(1)
      await own.query("SET GLOBAL max_allowed_packet = 67108864")

      // The clock of this process is ten minutes ahead; that of the database is the machine's.
      const ahead = "const now = Date.now; Date.now = () => now() + 600000"
      const off = await doctor({ ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` })
      expect(off.stdout).toMatch(/^wrong +clock +(599|600)\d{3} ms away from the database's: /m)
      expect(off.code).toBe(1)

      await own.query("SET GLOBAL read_only = 1")
      const readOnly = await doctor(env)
      expect(readOnly.stdout).toMatch(/^wrong +read_only +ON: must be OFF/m)
      expect(readOnly.code).toBe(1)
    } finally {
      await server.remove()
    }
  }, 180_000)
})
