import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { buildExample, type Language, languages, runExample } from "@authwire/test-support/machine/languages.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import {
  authority,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { describeMe } from "./languages-me.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const vectorsFile = `${root}/token/vectors.json`
const buildTimeoutMs = 15 * 60_000

/** Tests the examples in these languages. Each is built and run as a separate process, against a server process. */
export function describeExamples(...names: readonly string[]): void {
  const wanted = languages.filter(({ name }) => names.includes(name))
  const present = wanted.filter(({ tools }) => tools.every(hasTool))
  const each = present.length > 0 ? describe.each(present) : describe.skip.each(wanted)
  each("the example in $name", describeExample)
}

function describeExample(language: Language): void {
  let database: TestDatabase
  let server: ServerProcess
  let address: string
  let client: AuthwireClient
  const key = staticKey(["all"])
  const introspecting = staticKey(["sessions:introspect"])
  const env = { AUTHWIRE_API_KEYS: JSON.stringify([key.entry, introspecting.entry]) }
  const run = (...args: string[]) => runExample(language, args, { url: server.grpcUrl, apiKey: key.text })

  beforeAll(async () => {
    await buildExample(language)
    database = await createDatabase("sqlite")
    address = `--grpc-addr=127.0.0.1:${await freePort()}`
    server = await startServer({ databaseUrl: database.url, keys: false, env, args: [address] })
    client = createAuthwireClient({ url: server.grpcUrl, apiKey: key.text })
  }, buildTimeoutMs)
  afterAll(async () => {
    client?.close()
    await server?.stop()
    await database?.drop()
  })

  test("gives the expected result for every test vector that needs no frozen clock", async () => {
    const { valid, refused, requests } = JSON.parse(readFileSync(vectorsFile, "utf8"))
    const all: { clock?: string }[] = [...valid, ...refused, ...requests]
    const frozen = all.filter(({ clock }) => clock === "frozen").length
    expect(await run("vectors", vectorsFile)).toEqual({
      code: 0,
      stdout: `${all.length - frozen} passed, 0 failed, ${frozen} left out\n`,
      stderr: "",
    })
  })

  test("with an invalid key: prints the error of the service", async () => {
    const wrong = { url: server.grpcUrl, apiKey: staticKey(["all"]).text }
    const { code, stdout, stderr } = await runExample(language, ["user", "ada@example.com"], wrong)
    expect(stderr).toMatch(/the API key is unknown, revoked or expired/)
    expect(stderr).not.toContain(wrong.apiKey)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  })

  test("with TLS: connects to a service whose authority it trusts, and to no other", async () => {
    const transport = certificateFolder(serverCertificate())
    const trusted = certificateFolder(authority)
    const untrusted = certificateFolder(stranger)
    const own = await createDatabase("sqlite")
    const secure = await startServer({ databaseUrl: own.url, keys: false, env, args: transport.args })
    try {
      const reach = { url: secure.grpcUrl, apiKey: key.text }
      expect(new URL(reach.url).protocol).toBe("https:")
      const email = "tls@example.com"
      const known = await runExample(language, ["user", email], { ...reach, authorities: trusted.certFile })
      expect(known).toMatchObject({ code: 0, stderr: "" })
      expect(JSON.parse(known.stdout)).toMatchObject({ email, created: true })
      for (const authorities of [untrusted.certFile, undefined]) {
        const unknown = await runExample(language, ["user", email], { ...reach, ...(authorities && { authorities }) })
        expect(unknown).toMatchObject({
          code: 1,
          stdout: "",
          stderr: expect.stringMatching(/^example: .*unavailable/ims),
        })
        expect(unknown.stderr).not.toContain(key.text)
      }
    } finally {
      await secure.stop()
      await own.drop()
      for (const folder of [transport, trusted, untrusted]) folder.remove()
    }
  })

  test("reads claims that are nested as deeply as the service allows", async () => {
    const nested = (levels: number): object => (levels === 0 ? { a: 1 } : { a: nested(levels - 1) })
    const tokenOf = (levels: number) =>
      client.tokens.encode({ payload: nested(levels - 1) as { a: number }, salt: sessionCookie })
    const { token } = await tokenOf(32)
    const { code, stdout, stderr } = await run("decode", token)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout)).toMatchObject(nested(31))
    await expect(tokenOf(33)).rejects.toMatchObject({ message: expect.stringMatching(/nested deeper than 32/) })
  })

  test("counts a failing vector as failed", async () => {
    const { valid, refused, requests } = JSON.parse(readFileSync(vectorsFile, "utf8"))
    const wrong = {
      valid: [{ ...valid[0], payload: { ...valid[0].payload, sub: "somebody else" } }],
      refused: [{ ...refused[0], code: "TOKEN_EXPIRED" }],
      requests: [{ ...requests[0], payload: null }],
    }
    const file = `${process.env.AUTHWIRE_TEST_RUN_FOLDER}/${language.folder}-vectors.json`
    writeFileSync(file, JSON.stringify(wrong))
    const { code, stdout } = await run("vectors", file)
    expect(stdout).toMatch(/^0 passed, 3 failed, 0 left out$/m)
    expect(code).toBe(1)
  })

  test("decode prints the claims of a token, or the reason why there are none", async () => {
    const token = await client.jwt.encode({ token: { sub: "1", name: "Zoë" }, salt: sessionCookie, secret: "" })
    const { code, stdout, stderr } = await run("decode", token)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(stdout)).toMatchObject({ sub: "1", name: "Zoë", exp: expect.any(Number) })
    expect(await run("decode", "--cookie", "another-cookie", token)).toEqual({
      code: 1,
      stdout: "",
      stderr: "example: this is not a token of ours (NO_MATCHING_SECRET)\n",
    })
    const expired = await client.jwt.encode({ token: {}, salt: sessionCookie, secret: "", maxAge: -3600 })
    expect(await run("decode", expired)).toEqual({
      code: 1,
      stdout: "",
      stderr: "example: the token has expired\n",
    })
  })

  test("user creates a user, and finds the user that already has the address", async () => {
    const first = await run("user", "Ada@example.com")
    expect(first).toMatchObject({ code: 0, stderr: "" })
    const [row] = await database.query("SELECT id, email, name FROM users")
    expect(row).toEqual({ id: expect.anything(), email: "Ada@example.com", name: null })
    const userId = String(row?.id)
    expect(JSON.parse(first.stdout)).toEqual({ userId, name: null, email: "Ada@example.com", created: true })

    const second = await run("user", "ada@EXAMPLE.com")
    expect(second).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(second.stdout)).toEqual({ userId, name: null, email: "Ada@example.com", created: false })
    expect(await database.query("SELECT id FROM users")).toHaveLength(1)
  })

  describe("GET /me", () =>
    describeMe({
      language,
      introspecting: introspecting.text,
      server: () => server,
      client: () => client,
      async restart() {
        server = await startServer({ databaseUrl: database.url, keys: false, env, args: [address] })
      },
    }))
}
