import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { Authorization } from "@authwire/proto/envoy"
import { errorOf, frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { command, createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { run, type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { withOtherTag } from "@authwire/test-support/schema/altered.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { planted } from "@authwire/test-support/schema/planted.js"
import type { DescMethodUnary } from "@bufbuild/protobuf"
import { ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

// Keys, secrets, tokens, cookies and addresses are planted in every field of every method, in the environment and in
// files, over every transport. Then all output of the service is searched for them, with the most detailed log level.
test("S-36: no output holds what is planted anywhere, whatever the form of the log", async () => {
  let count = 0
  const plain = (what: string): string => {
    count++
    return `${what}-canary-${crypto.randomUUID()}`
  }
  // A user id may appear in the audit log, unless it could be an e-mail address. These ids could.
  const canary = (what: string): string => `${plain(what)}@example.com`
  /** What is secret without being planted. */
  const secrets: string[] = []
  const said: string[] = []
  const database = await createDatabase(serviceDatabase())
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
  const start = async (format: string) => {
    const args = ["--log-level=trace", `--log-format=${format}`]
    const server = await startServer({ databaseUrl: database.url, keys: false, args, env })
    later(server.stop)
    return server
  }
  const json = await start("json")
  await command(database, "tenants", "create", "acme")
  const [ofAcme, revoked] = [await createKey(database, "all", "--tenant=acme"), await createKey(database, "all")]
  await revokeKey(database, revoked)
  const strangers = Array.from({ length: 3 }, () => staticKey(["all"]))
  for (const { text } of [given, ofAcme, revoked, ...strangers]) {
    // The id of a key is public: it appears in logs.
    secrets.push(text, text.slice(21))
  }
  secrets.push(...strangers.map(({ entry }) => entry.secretSha256))
  secrets.push(given.entry.secretSha256, createHash("sha256").update(ofAcme.text.slice(21)).digest("hex"))

  const keys = [given, ofAcme, revoked, ...strangers].map(({ text }) => `Bearer ${text}`)
  const all = [...keys, `Bearer ${plain("bearer")}`, `Basic ${btoa(plain("password"))}`, plain("header")]
  // The form of the log does not depend on the key: a valid one, an unknown one and none suffice for the second form.
  const some = [all[0] as string, all[4] as string, all.at(-1) as string]
  let failed = 0
  const note = (error: unknown) => {
    failed++
    said.push(String(error), inspect(error, { depth: 12 }))
    if (!(error instanceof ConnectError)) throw error
  }
  async function plant({ grpcUrl, httpUrl }: ServerProcess, headers: string[]) {
    const transports = [
      createGrpcTransport({ baseUrl: grpcUrl }),
      createConnectTransport({ ...http1Options, baseUrl: httpUrl, useHttpGet: true }),
      createGrpcWebTransport({ ...http1Options, baseUrl: httpUrl }),
    ]
    for (const authorization of headers) {
      for (const method of unaryMethods) {
        const header = {
          ...{ authorization, cookie: `authjs.session-token=${plain("cookie")}` },
          ...{ "x-other": plain("header"), "idempotency-key": plain("idempotency") },
        }
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
    // What the client throws, and what the service says of tokens that it has issued. The second time most calls fail.
    const client = createAuthwireClient({ url: grpcUrl, apiKey: given.text })
    const gateway = createClient(Authorization, createGrpcTransport({ baseUrl: grpcUrl }))
    const [id, sessionToken, salt] = [canary("id"), plain("session"), plain("salt")]
    const user = {
      id,
      email: canary("email"),
      emailVerified: null,
      name: plain("name"),
      [plain("name")]: plain("value"),
    }
    const account = {
      userId: id,
      type: "oidc" as const,
      provider: plain("provider"),
      providerAccountId: plain("account"),
    }
    const { token } = await client.tokens.encode({ payload: { sub: canary("subject") }, salt })
    secrets.push(token)
    const cookies = [`authjs.session-token=${token}`, `${plain("cookie")}=x; authjs.session-token=${sessionToken}`]
    const sent = { headers: { authorization: `Bearer ${given.text}` } }
    const calls: (() => unknown)[] = [
      () => client.adapter.createUser(user),
      () => client.adapter.createUser({ ...user, id: canary("otherid") }),
      () => client.adapter.createUser({ ...user, extra: Number.NaN } as never),
      () => client.adapter.getUser(`${plain("long")}${"x".repeat(300)}`),
      () => client.adapter.updateUser({ id: canary("gone"), name: plain("name") }),
      () => client.adapter.linkAccount({ ...account, access_token: plain("access"), refresh_token: plain("refresh") }),
      () => client.adapter.linkAccount({ ...account, userId: canary("nobody") }),
      () => client.adapter.createSession({ sessionToken, userId: id, expires: new Date(4e12) }),
      () => client.tokens.decode({ token: withOtherTag(token), salt }),
      () => client.tokens.decode({ token, salt, secrets: [plain("requestsecret")] }),
      () =>
        createAuthwireClient({ url: "http://127.0.0.1:1", apiKey: plain("key") }).adapter.getUserByEmail(user.email),
      ...cookies.flatMap((cookie) => [
        () => client.introspection.introspect({ headers: [{ name: "cookie", value: cookie }], salt }),
        ...[{}, { [plain("setting")]: "x" }, { policy: plain("policy") }].map((contextExtensions) => () => {
          const http = { path: `/${plain("path")}`, headers: { cookie, "x-auth-user-id": plain("forged") } }
          return gateway.check({ attributes: { contextExtensions, request: { http } } }, sent)
        }),
      ]),
    ]
    for (const call of [...calls, ...calls]) {
      await Promise.resolve(call()).catch((error) => said.push(String(error), inspect(error, { depth: 12 })))
    }
    client.close()
    // Requests that cannot be parsed, and paths that do not exist.
    for (const path of ["authwire.v1.UserService/GetUser", `authwire.v1.${plain("service")}/GetUser`, plain("path")]) {
      for (const body of [`{"id": "${plain("json")}"`, `{"${plain("field")}": 1}`]) {
        const sent = { "content-type": "application/json", authorization: `Bearer ${given.text}` }
        const answer = await fetch(`${httpUrl}/${path}?q=${plain("query")}`, { method: "POST", headers: sent, body })
        said.push(await answer.text(), inspect([...answer.headers]))
      }
    }
  }
  const servers = [json, await start("text")]
  await plant(json, all)
  await plant(servers[1] as ServerProcess, some)
  const help = await run(["serve", "--help"], env)
  const wrong = await run(["keys", "revoke", given.text], { AUTHWIRE_DATABASE_URL: database.url })
  const list = await run(["keys", "list"], { AUTHWIRE_DATABASE_URL: database.url })
  const ofProcess = readFileSync(`/proc/${json.pid}/cmdline`, "utf8")

  expect(failed).toBeGreaterThan(unaryMethods.length * (all.length + some.length))
  expect(ofProcess).toContain("serve")
  for (const server of servers) {
    expect(await server.stop()).toBe(0)
    expect(server.output()).toContain("INVALID_ARGUMENT")
  }
  const everything = [
    ...servers.map((server) => server.output()),
    ofProcess,
    ...said,
    ...[help, wrong, list].flatMap((one) => [one.stdout, one.stderr]),
  ]
  // Makes sure that there was output of each kind.
  const text = everything.join("\n")
  for (const word of ['"event":"audit"', "sha256:", revoked.id]) expect(text).toContain(word)
  expect(secrets.filter((value) => text.includes(value))).toEqual([])
  const at = text.indexOf("-canary-")
  expect(at < 0 ? "" : text.slice(Math.max(at - 100, 0), at + 100)).toBe("")
  expect(count).toBeGreaterThan(1_000)
}, 120_000)
