import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { AuthwireClient } from "@authwire/client"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { command, createKey } from "@authwire/test-support/processes/keys.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { decode, encode } from "@authwire/token"
import { beforeAll, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"

const salt = "authjs.session-token"
const [newest, older, next] = [1, 2, 3].map((n) => `a-secret-of-acme-alone-that-is-long-enough-${n}`) as [
  string,
  string,
  string,
]
const payload = { sub: "x" }

// Each tenant has its own secrets, and tokens of one tenant are invalid for another.
const file = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `secrets-${crypto.randomUUID()}.json`)
writeFileSync(file, JSON.stringify({ acme: [newest, older] }))
const authwire = useAuthwire("sqlite", { keys: false, args: [`--tenant-secrets-file=${file}`] })
const clients: Record<string, AuthwireClient> = {}
const tokensOf = (tenant: string) => (clients[tenant] as AuthwireClient).tokens
const reasonOf = async (call: Promise<unknown>) => (await failureOf(call)).infos[0]?.reason

beforeAll(async () => {
  for (const tenant of ["default", "acme", "bare"]) {
    if (tenant !== "default") await command(authwire.database, "tenants", "create", tenant)
    clients[tenant] = authwire.clientOf(await createKey(authwire.database, "all", `--tenant=${tenant}`))
  }
})

test("a tenant's tokens are issued with its newest secret and read with any of its own", async () => {
  const { token } = await tokensOf("acme").encode({ payload, salt })
  expect(await decode({ token, salt, secret: newest })).toMatchObject(payload)
  expect((await tokensOf("acme").decode({ token, salt })).payload).toMatchObject(payload)
  const old = await encode({ token: payload, salt, secret: older })
  expect((await tokensOf("acme").decode({ token: old, salt })).payload).toMatchObject(payload)
  const ofDefault = (await tokensOf("default").encode({ payload, salt })).token
  expect(await decode({ token: ofDefault, salt, secret: testSecret })).toMatchObject(payload)

  const headers = (value: string) => ({ headers: [{ name: "cookie", value: `${salt}=${value}` }] })
  expect((await tokensOf("acme").getToken(headers(token))).result).toMatchObject({ value: payload })
  expect((await tokensOf("acme").getToken(headers(ofDefault))).result.case).toBeUndefined()
  expect((await tokensOf("default").getToken(headers(token))).result.case).toBeUndefined()
  expect(await reasonOf(tokensOf("acme").decode({ token: ofDefault, salt }))).toBe("NO_MATCHING_SECRET")
  expect(await reasonOf(tokensOf("default").decode({ token, salt }))).toBe("NO_MATCHING_SECRET")
})

test("S-21: a token that was read for its tenant is still invalid for another tenant, and with other secrets", async () => {
  const { token } = await tokensOf("acme").encode({ payload, salt })
  const headers = [{ name: "cookie", value: `${salt}=${token}` }]
  for (let count = 0; count < 3; count++) {
    expect((await tokensOf("acme").decode({ token, salt })).payload).toMatchObject(payload)
    for (const tenant of ["default", "bare"]) {
      expect(await reasonOf(tokensOf(tenant).decode({ token, salt, secrets: ["its-own"] }))).toBe("NO_MATCHING_SECRET")
      const { result } = await tokensOf(tenant).getToken({ headers, secrets: ["its-own"] })
      expect(result.case).toBeUndefined()
    }
    expect(await reasonOf(tokensOf("acme").decode({ token, salt, secrets: ["its-own"] }))).toBe("NO_MATCHING_SECRET")
  }
})

test("Introspect finds the sessions of its tenant, of both kinds, and no other sessions", async () => {
  const introspect = async (tenant: string, token: string) => {
    const headers = [{ name: "cookie", value: `${salt}=${token}` }]
    return (await (clients[tenant] as AuthwireClient).introspection.introspect({ headers })).active
  }
  const { adapter, tokens } = clients.acme as AuthwireClient
  const sessionToken = crypto.randomUUID()
  await adapter.createUser({ id: "x", email: "x@example.com", emailVerified: null })
  await adapter.createSession({ sessionToken, userId: "x", expires: new Date(Date.now() + 60_000) })
  const { token } = await tokens.encode({ payload, salt })
  for (const one of [sessionToken, token]) {
    expect(await introspect("acme", one)).toBe(true)
    expect(await introspect("default", one)).toBe(false)
  }
  expect(await introspect("bare", sessionToken)).toBe(false)
  expect(await reasonOf(introspect("bare", token))).toBe("MISSING_SECRET")
})

test("S-20: a tenant without secrets cannot issue or read tokens, unless its request supplies secrets", async () => {
  const { token } = await tokensOf("default").encode({ payload, salt })
  const { decode, encode, getToken } = tokensOf("bare")
  const headers = [{ name: "cookie", value: `${salt}=${token}` }]
  for (const call of [encode({ payload, salt }), decode({ token, salt }), getToken({ headers })]) {
    expect(await reasonOf(call)).toBe("MISSING_SECRET")
  }
  const own = await encode({ payload, salt, secrets: ["its-own"] })
  expect((await decode({ token: own.token, salt, secrets: ["its-own"] })).payload).toMatchObject(payload)
})

test("the file is read again when it changes; an invalid file changes nothing, and its content is not logged", async () => {
  const { token } = await tokensOf("acme").encode({ payload, salt })
  const old = await encode({ token: payload, salt, secret: older })
  expect((await tokensOf("acme").decode({ token: old, salt })).payload).toMatchObject(payload)
  writeFileSync(file, JSON.stringify({ acme: ["hunter2"] }))
  await until(() => logOf(authwire.server).some(({ problem }) => problem === "acme[0]: must have 32 bytes or more"))
  expect((await tokensOf("acme").decode({ token, salt })).payload).toMatchObject(payload)
  writeFileSync(file, JSON.stringify({ acme: [next, newest], bare: [older] }))
  const encodes = async (tenant: string, secret: string) => {
    const made = await tokensOf(tenant)
      .encode({ payload, salt })
      .catch(() => undefined)
    return made !== undefined && (await decode({ ...made, salt, secret }).catch(() => null)) !== null
  }
  await until(() => encodes("acme", next))
  expect((await tokensOf("acme").decode({ token, salt })).payload).toMatchObject(payload)
  // It was valid before, but its secret was removed and is now that of another tenant.
  expect(await reasonOf(tokensOf("acme").decode({ token: old, salt }))).toBe("NO_MATCHING_SECRET")
  expect(await encodes("bare", older)).toBe(true)
  expect((await tokensOf("bare").decode({ token: old, salt })).payload).toMatchObject(payload)
  for (const secret of ["hunter2", newest, older, next]) expect(authwire.server.output()).not.toContain(secret)
})
