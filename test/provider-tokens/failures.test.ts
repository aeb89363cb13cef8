import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AccountService } from "@authwire/proto"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { authority, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"
import { client } from "./oidc.js"
import { entryOf, providersFile, type Replica, signedUp, startReplica } from "./world.js"

// The errors for callers and the lines in the logs and the audit log when a provider misbehaves.
// server/src/provider-tokens/token-endpoint.test.ts tests how responses of the token endpoint are classified.
const later = endsAfterEach()
const secrets = ["refresh-token-of-the-user", "access-token-of-the-user", client.secret, "a word of the provider"]
const [refreshToken, accessToken] = secrets as [string, string]

let asked = 0
let handle: (response: ServerResponse) => unknown
const json = (status: number, body: object, headers: Record<string, string> = {}) => {
  handle = (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}
const good = (more: object = {}) =>
  json(200, { access_token: "new-access-token", token_type: "Bearer", expires_in: 60, ...more })
const provider = createServer((request, response) => {
  request.resume()
  asked++
  handle(response)
})

let database: TestDatabase
let replica: Replica
let file: string
let auditLog: string
const folder = mkdtempSync(join(tmpdir(), "authwire-provider-tokens-"))
const get = (account: { userId: string; provider: string; providerAccountId?: string }, more: object = {}) =>
  replica.client.accounts.getAccessToken({ ...account, ...more })
const failed = (account: Parameters<typeof get>[0]) => failureOf(get(account))
const signUp = (more: object = {}) => signedUp(replica.client, { refreshToken, accessToken, ...more })
const urlOf = (server: { address(): unknown }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const content = (more: object = {}) => ({
  default: { oidc: entryOf({ issuer: urlOf(provider), tokenEndpoint: `${urlOf(provider)}/token` }), ...more },
})

beforeAll(async () => {
  await listen(provider)
  database = await createDatabase("sqlite")
  file = providersFile(content())
  auditLog = join(folder, "audit.jsonl")
  replica = await startReplica(database, file, { args: [`--audit-log=${auditLog}`] })
})
afterAll(async () => {
  await replica.stop()
  provider.closeAllConnections()
  provider.close()
  await database.drop()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  asked = 0
})

const auditOf = (userId: string) =>
  readFileSync(auditLog, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ method, subject }) => method === `${AccountService.typeName}/GetAccessToken` && subject === userId)

describe("the error of a caller, and the time for which the provider is not asked again", () => {
  const endOf = async (account: { providerAccountId: string }) => {
    const sql = "SELECT refresh_until FROM accounts WHERE provider_account_id = ?"
    const [row] = await database.query(sql, [account.providerAccountId])
    return Date.parse(`${String(row?.refresh_until).replace(" ", "T")}Z`)
  }

  test.each([
    // First, because a refresh that succeeded would prove that the client is accepted.
    [401, "invalid_client", ["FailedPrecondition", "CLIENT_REFUSED", { oauth_error: "invalid_client" }], 60],
    [400, "invalid_grant", ["FailedPrecondition", "REFRESH_REFUSED", { oauth_error: "invalid_grant" }], 900],
    [400, "a word of the provider", ["FailedPrecondition", "REFRESH_REFUSED", {}], 900],
    [500, undefined, ["Unavailable", "PROVIDER_UNAVAILABLE", { failure: "status" }], 5],
    [200, undefined, ["Unavailable", "PROVIDER_UNAVAILABLE", { failure: "malformed" }], 5],
    [302, undefined, ["Unavailable", "PROVIDER_UNAVAILABLE", { failure: "status" }], 5],
  ] as const)("status %s with the error %s", async (status, error, expected, seconds) => {
    const account = await signUp()
    json(status, { error, error_description: "a word of the provider" }, { location: "/elsewhere" })
    const begun = Date.now()
    for (let count = 0; count < 3; count++) {
      const { code, infos, details } = await failed(account)
      const { request_id: _, ...metadata } = infos[0]?.metadata ?? {}
      const [expectedCode, reason, more] = expected
      expect([code, infos[0]?.reason, metadata]).toEqual([expectedCode, reason, { ...more, http_status: `${status}` }])
      expect(details).toEqual(["google.rpc.ErrorInfo", "google.rpc.RetryInfo"])
    }
    expect(asked).toBe(1)
    const end = await endOf(account)
    expect(end).toBeGreaterThanOrEqual(begun + seconds * 1_000 - 1)
    expect(end).toBeLessThanOrEqual(Date.now() + seconds * 1_000 + 1)
    // After that time a refresh succeeds again.
    const over = "UPDATE accounts SET refresh_until = '2020-01-01 00:00:00.000' WHERE provider_account_id = ?"
    await database.query(over, [account.providerAccountId])
    good()
    expect(await get(account)).toMatchObject({ accessToken: "new-access-token", tokenType: "bearer", scope: "" })
    expect(await endOf(account)).toBeNaN()
  })

  test("REFRESH_TOKEN_MISSING, PROVIDER_NOT_CONFIGURED and INVALID_FIELD: the provider is not called", async () => {
    good()
    const bare = await signUp({ refreshToken: undefined })
    expect((await failed(bare)).infos[0]?.reason).toBe("REFRESH_TOKEN_MISSING")
    const other = await signUp({ provider: "other" })
    expect((await failed(other)).infos[0]?.reason).toBe("PROVIDER_NOT_CONFIGURED")
    await replica.client.accounts.linkAccount({ ...bare, type: 1, providerAccountId: `second of ${bare.userId}` })
    const { infos, violations } = await failed({ userId: bare.userId, provider: "oidc" })
    expect(infos[0]?.reason).toBe("INVALID_FIELD")
    expect(violations[0]?.field).toBe("provider_account_id")
    const soon = { expiresAt: Math.floor(Date.now() / 1000) + 600 }
    expect(await get(await signUp({ ...soon, refreshToken: undefined, provider: "other" }))).toMatchObject({
      accessToken,
    })
    expect(asked).toBe(0)
  })

  test("a token that never expires is returned without an expiry", async () => {
    for (const expiresAt of [undefined, 1e15, 1e308]) {
      const answer = await get(await signUp({ expiresAt }))
      expect(answer).toMatchObject({ accessToken })
      expect(answer.expires).toBeUndefined()
    }
    expect(asked).toBe(0)
  })
})

describe("the audit log", () => {
  test("has a line for each refresh, and none for calls that wait for it or need none", async () => {
    const account = await signUp()
    good()
    await Promise.all(Array.from({ length: 20 }, () => get(account)))
    await get(account, { minValidity: { seconds: 10n } })
    await until(() => auditOf(account.userId).length > 0)
    const refused = await signUp()
    json(400, { error: "invalid_grant" })
    await Promise.all(Array.from({ length: 20 }, () => failed(refused)))
    await failed(refused)
    await until(() => auditOf(refused.userId).length > 0)
    expect(auditOf(account.userId)).toEqual([expect.objectContaining({ code: "OK", tenant: "default" })])
    expect(auditOf(refused.userId)).toEqual([
      expect.objectContaining({ code: "FAILED_PRECONDITION", reason: "REFRESH_REFUSED" }),
    ])
  })
})

test("a call that waited for a provider is answered as things are then: its user is disabled, or the account is unlinked", async () => {
  const { users, accounts } = replica.client
  for (const [meanwhile, error] of [
    [(id: string) => users.disableUser({ id }), ["FailedPrecondition", "USER_DISABLED"]],
    [
      (_: string, account: { provider: string; providerAccountId: string }) => accounts.unlinkAccount(account),
      ["NotFound", "ACCOUNT_NOT_FOUND"],
    ],
  ] as const) {
    const account = await signUp()
    const arrived = Promise.withResolvers<ServerResponse>()
    handle = arrived.resolve
    const failure = failed(account)
    const response = await arrived.promise
    await meanwhile(account.userId, account)
    good()
    handle(response)
    const { code, infos } = await failure
    expect([code, infos[0]?.reason]).toEqual(error)
  }
})

test("a provider gets no request unless its certificate is valid, of its host, and of a known authority", async () => {
  const providers: Record<string, object> = {}
  for (const [name, options] of [
    ["good", {}],
    ["elsewhere", { names: ["DNS:other.example"] }],
    ["expired", { to: Date.now() - 1_000 }],
  ] as const) {
    const { cert, key } = serverCertificate(options)
    const server = createTlsServer({ cert, key }, (request, response) => {
      request.resume()
      handle(response)
    })
    const tokenEndpoint = `https://127.0.0.1:${await listen(server)}`
    later(async () => {
      server.closeAllConnections()
      server.close()
    })
    providers[name] = entryOf({ issuer: tokenEndpoint, tokenEndpoint })
  }
  const ca = join(folder, "ca.pem")
  writeFileSync(ca, authority.cert)
  const own = await createDatabase("sqlite")
  later(() => own.drop())
  good()
  const outcomes = async (env: Record<string, string>) => {
    const asking = await startReplica(own, providersFile({ default: providers }), { env })
    const asked = Object.keys(providers).map(async (provider) => {
      const account = await signedUp(asking.client, { provider, refreshToken })
      const call = asking.client.accounts.getAccessToken(account)
      return call.then(
        (answer) => answer.accessToken,
        () => failureOf(call).then(({ infos }) => infos[0]),
      )
    })
    return Promise.all(asked).finally(() => asking.stop())
  }
  const failed = expect.objectContaining({
    reason: "PROVIDER_UNAVAILABLE",
    metadata: expect.objectContaining({ failure: "network" }),
  })
  expect(await outcomes({ NODE_EXTRA_CA_CERTS: ca })).toEqual(["new-access-token", failed, failed])
  expect(await outcomes({})).toEqual([failed, failed, failed])
})

describe("--providers-file", () => {
  test("an error at the start is reported with the name of the field, and the service does not start", async () => {
    const wrong = providersFile(content({ p: { token_endpoint: "http://p.example", client_id: "x" } }))
    const args = ["serve", "--dev", "--grpc-addr=127.0.0.1:0", "--http-addr=off", `--providers-file=${wrong}`]
    const { code, stderr } = await run(args, { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: database.url })
    expect(stderr).toMatch(/^authwire: --providers-file: default\.(oidc\.client_secret_env|p\.token_endpoint): /m)
    expect(code).toBe(1)
  })

  test("it is read again; an invalid file is logged, and the previous content stays in use", async () => {
    const account = await signUp({ provider: "added" })
    expect((await failed(account)).infos[0]?.reason).toBe("PROVIDER_NOT_CONFIGURED")
    const { oidc } = content().default
    writeFileSync(file, JSON.stringify(content({ added: oidc })))
    good()
    await until(async () => (await failureOr(get(account))) === undefined)
    writeFileSync(file, JSON.stringify(content({ added: { ...oidc, token_endpoint: "http://p.example/" } })))
    await until(() => /"problem":"default\.added\.token_endpoint: must be/.test(replica.server.log()))
    expect(await get(await signUp({ provider: "added" }))).toMatchObject({ accessToken: "new-access-token" })
    writeFileSync(file, JSON.stringify(content()))
    await until(async () => (await failureOr(get(await signUp({ provider: "added" })))) === "PROVIDER_NOT_CONFIGURED")
  })

  const failureOr = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      () => failureOf(call).then(({ infos }) => infos[0]?.reason),
    )
})

test("no secret and no text of a provider is in the log, the audit log or an error", () => {
  expect(replica.server.output()).toContain('"outcome":"refused"')
  for (const secret of [...secrets, "new-access-token", "new-refresh-token"]) {
    expect(replica.server.output().includes(secret)).toBe(false)
    expect(readFileSync(auditLog, "utf8").includes(secret)).toBe(false)
  }
})
