import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { errorOf, frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { command, createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { run, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { planted } from "@authwire/test-support/schema/planted.js"
import type { DescMethodUnary } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

// Keys, secrets, tokens, cookies and addresses are planted in every field of every method, in the environment and in
// files, over every transport. Then all output of the service is searched for them, with the most detailed log level.
test.each([["json"], ["text"]])("no output holds what is planted anywhere, log as %s", async (format) => {
  const canaries: string[] = []
  // A user id may appear in the audit log, unless it could be an e-mail address. These ids could.
  const canary = (what: string): string => {
    const value = `${what}-canary-${crypto.randomUUID()}@example.com`
    canaries.push(value)
    return value
  }
  const plain = (what: string): string => {
    const value = `${what}-canary-${crypto.randomUUID()}`
    canaries.push(value)
    return value
  }
  const said: string[] = []
  const database = await createDatabase("sqlite")
  later(database.drop)
  const secretsFile = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `secrets-${crypto.randomUUID()}.json`)
  writeFileSync(secretsFile, JSON.stringify({ acme: [plain("tenantsecret"), plain("tenantsecret")] }))
  const given = staticKey(["all"])
  const env = {
    AUTH_SECRET: plain("authsecret"),
    AUTH_SECRET_1: plain("authsecret"),
    AUTHWIRE_API_KEYS: JSON.stringify([given.entry]),
    AUTHWIRE_TENANT_SECRETS_FILE: secretsFile,
  }
  const server = await startServer({
    databaseUrl: database.url,
    keys: false,
    args: ["--log-level=trace", `--log-format=${format}`],
    env,
  })
  later(server.stop)
  await command(database, "tenants", "create", "acme")
  const [ofAcme, revoked] = [await createKey(database, "all", "--tenant=acme"), await createKey(database, "all")]
  await revokeKey(database, revoked)
  const strangers = Array.from({ length: 3 }, () => staticKey(["all"]))
  for (const { text } of [given, ofAcme, revoked, ...strangers]) {
    // The id of a key is public: it appears in logs.
    canaries.push(text, text.slice(21))
  }
  canaries.push(...strangers.map(({ entry }) => entry.secretSha256))
  canaries.push(given.entry.secretSha256, createHash("sha256").update(ofAcme.text.slice(21)).digest("hex"))

  const { grpcUrl, httpUrl } = server
  const transports = [
    createGrpcTransport({ baseUrl: grpcUrl }),
    createConnectTransport({ ...http1Options, baseUrl: httpUrl, useHttpGet: true }),
    createGrpcWebTransport({ ...http1Options, baseUrl: httpUrl }),
  ]
  const keys = [given, ofAcme, revoked, ...strangers].map(({ text }) => `Bearer ${text}`)
  const headers = [...keys, `Bearer ${plain("bearer")}`, `Basic ${btoa(plain("password"))}`, plain("header")]
  let failed = 0
  const note = (error: unknown) => {
    failed++
    said.push(String(error), inspect(error, { depth: 12 }))
    if (!(error instanceof ConnectError)) throw error
  }
  for (const authorization of headers) {
    for (const method of unaryMethods) {
      const header = { authorization, cookie: `authjs.session-token=${plain("cookie")}`, "x-other": plain("header") }
      for (const transport of transports) {
        const request = planted(method.input, canary)
        await transport.unary(method as DescMethodUnary, undefined, undefined, header, request).catch(note)
      }
    }
    const pipeline = openBarePipeline(grpcUrl, { authorization })
    const calls = unaryMethods.map((method, id) =>
      frame(id + 1, method, planted(method.input, canary) as never, { header: { authorization: plain("framekey") } }),
    )
    pipeline.send({ calls })
    const answers = await pipeline.answers(calls.length).catch(async () => {
      said.push(inspect(await pipeline.ended, { depth: 12 }))
      return []
    })
    for (const answer of answers)
      if (answer.outcome.case === "error") said.push(inspect(errorOf(answer), { depth: 12 }))
    pipeline.cancel()
  }
  // Requests that cannot be parsed, and paths that do not exist.
  for (const path of ["authwire.v1.UserService/GetUser", `authwire.v1.${plain("service")}/GetUser`, plain("path")]) {
    for (const body of [`{"id": "${plain("json")}"`, `{"${plain("field")}": 1}`]) {
      const sent = { "content-type": "application/json", authorization: `Bearer ${given.text}` }
      const answer = await fetch(`${httpUrl}/${path}?q=${plain("query")}`, { method: "POST", headers: sent, body })
      said.push(await answer.text(), inspect([...answer.headers]))
    }
  }
  const help = await run(["serve", "--help"], env)
  const wrong = await run(["keys", "revoke", given.text], { AUTHWIRE_DATABASE_URL: database.url })
  const list = await run(["keys", "list"], { AUTHWIRE_DATABASE_URL: database.url })
  const ofProcess = readFileSync(`/proc/${server.pid}/cmdline`, "utf8")

  expect(failed).toBeGreaterThan(unaryMethods.length * headers.length)
  expect(ofProcess).toContain("serve")
  expect(await server.stop()).toBe(0)
  const everything = [
    server.output(),
    ofProcess,
    ...said,
    ...[help, wrong, list].flatMap((one) => [one.stdout, one.stderr]),
  ]
  // Makes sure that there was output of each kind.
  const text = everything.join("\n")
  for (const word of ['"event":"audit"', "sha256:", "INVALID_ARGUMENT", revoked.id]) expect(text).toContain(word)
  expect(canaries.filter((value) => text.includes(value))).toEqual([])
  expect(canaries.length).toBeGreaterThan(1_000)
})
