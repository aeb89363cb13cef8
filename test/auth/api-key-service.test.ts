import { ApiKeyService, UserService } from "@authwire/proto"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { type Client, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"
import { ask } from "./access/asking.js"

describe("ApiKeyService", () => {
  const keys = {
    operator: staticKey(["all", "keys:write"]),
    support: staticKey(["keys:read", "keys:write", "users:read"]),
    application: staticKey(["all"]),
    other: staticKey(["all", "keys:write"], { tenant: "other" }),
  }
  const authwire = useAuthwire(serviceDatabase(), { keys: Object.values(keys) })

  const as = ({ text }: { text: string }): Client<typeof ApiKeyService> =>
    createClient(
      ApiKeyService,
      createGrpcTransport({
        baseUrl: authwire.server.grpcUrl,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${text}`)
            return next(request)
          },
        ],
      }),
    )
  const idsOf = async (key: { text: string }) => (await as(key).listApiKeys({})).apiKeys.map(({ id }) => id)
  const rejection = (call: Promise<unknown>) =>
    call.then(
      () => "none",
      (error) => ConnectError.from(error).rawMessage,
    )

  test("a key that is created works at once, is listed without its secret, and is rejected after it is revoked", async () => {
    const expireTime = timestampFromMs(Date.now() + 86_400_000)
    const { apiKey, key } = await as(keys.operator).createApiKey({ name: "Zoë", scopes: ["users:read"], expireTime })
    const id = apiKey?.id as string
    const made = { id, text: key }
    expect(await ask(authwire.server, made)).toBe("USER_NOT_FOUND")
    expect(await rejection(as(made).listApiKeys({}))).toBe("the API key lacks the scope keys:read")
    const listed = (await as(keys.application).listApiKeys({})).apiKeys.find((one) => one.id === id)
    expect(listed).toMatchObject({ name: "Zoë", scopes: ["users:read"], expireTime })
    const rows = await authwire.database.query("SELECT * FROM api_keys")
    const secret = key.slice(`awk_${id}_`.length)
    expect(secret).toHaveLength(43)
    expect(
      JSON.stringify([listed, rows, authwire.server.log()], (_, value) =>
        typeof value === "bigint" ? `${value}` : value,
      ),
    ).not.toContain(secret)

    const first = await as(keys.operator).revokeApiKey({ id })
    expect(first.apiKey?.revokeTime).toBeDefined()
    expect(await as(keys.operator).revokeApiKey({ id })).toEqual(first)
    await until(async () => (await ask(authwire.server, made)) === "API_KEY_INVALID")
  })

  test.each([
    ["all", ["users:read", "all"]],
    ["sessions:write", ["sessions:write"]],
    ["users:private", ["users:private"]],
  ])("nobody can give the scope %s without having it", async (scope, scopes) => {
    const before = await idsOf(keys.support)
    const created = as(keys.support).createApiKey({ name: "more", scopes })
    expect(await rejection(created)).toBe(`the API key lacks the scope ${scope}`)
    expect(await idsOf(keys.support)).toEqual(before)
  })

  test("a key that expires gives no longer life than its own", async () => {
    const expireTime = timestampFromMs(Date.now() + 3_600_000)
    const { key } = await as(keys.operator).createApiKey({
      name: "short",
      scopes: ["keys:write", "keys:read"],
      expireTime,
    })
    const short = as({ text: key })
    const later = timestampFromMs(Date.now() + 3_600_001)
    const rule = "expire_time: must not be later than the end of the calling key"
    const asked = { name: "longer", scopes: ["keys:read"] }
    expect(await rejection(short.createApiKey({ ...asked, expireTime: later }))).toBe(rule)
    expect((await short.createApiKey(asked)).apiKey?.expireTime).toEqual(expireTime)
    const earlier = timestampFromMs(Date.now() + 60_000)
    expect((await short.createApiKey({ ...asked, expireTime: earlier })).apiKey?.expireTime).toEqual(earlier)
    expect((await as(keys.operator).createApiKey(asked)).apiKey?.expireTime).toBeUndefined()
  })

  test("an application's key with the scope `all` creates and revokes none", async () => {
    const { id } = await createKey(authwire.database, "users:read")
    const calls = [
      as(keys.application).createApiKey({ name: "mine", scopes: ["users:read"] }),
      as(keys.application).revokeApiKey({ id }),
    ]
    for (const call of calls) expect(await rejection(call)).toBe("the API key lacks the scope keys:write")
    expect(await idsOf(keys.application)).toContain(id)
  })

  test("a key belongs to the caller's tenant, and concerns no other", async () => {
    const { apiKey, key } = await as(keys.operator).createApiKey({ name: "ours", scopes: ["all"] })
    const id = apiKey?.id as string
    expect(await idsOf(keys.other)).not.toContain(id)
    expect((await as(keys.other).revokeApiKey({ id })).apiKey).toBeUndefined()
    expect(await ask(authwire.server, { text: key })).toBe("USER_NOT_FOUND")
    const theirs = await as(keys.other).createApiKey({ name: "theirs", scopes: ["keys:read"] })
    expect(await as({ text: theirs.key }).getCurrentApiKey({})).toMatchObject({ tenant: "other" })
    expect(await idsOf(keys.operator)).not.toContain(theirs.apiKey?.id)
  })

  test("every key is told the presets, whose scopes are scopes of the schema", async () => {
    const { presets } = await as(keys.support).getCurrentApiKey({})
    expect(presets.map(({ name }) => name)).toEqual(["application", "backend", "gateway", "operator"])
    for (const { name, description, scopes } of presets) {
      expect(description).toMatch(/^[A-Z].*\.$/)
      // CreateApiKey takes no other scopes.
      expect(await as(keys.operator).createApiKey({ name, scopes })).toMatchObject({ apiKey: { scopes } })
      const made = await createKey(authwire.database, name)
      const listed = (await as(keys.application).listApiKeys({})).apiKeys.find(({ id }) => id === made.id)
      expect(listed?.scopes).toEqual(scopes)
    }
  })

  test.each([
    ["a scope that does not exist", { scopes: ["users:read", "users:all"] }, /^scopes\[1\]: must be one of all, /],
    ["no scope", { scopes: [] }, /scopes/],
    ["a scope twice", { scopes: ["users:read", "users:read"] }, /scopes/],
    ["a control character in the name", { name: "a\nb" }, /^name/],
    ["no name", { name: "" }, /^name/],
    ["a time that has passed", { expireTime: timestampFromMs(0) }, /^expire_time: must be in the future$/],
  ])("INVALID_FIELD: %s", async (_, more, message) => {
    const request = { name: "n", scopes: ["users:read"], ...more }
    expect(await rejection(as(keys.operator).createApiKey(request))).toMatch(message)
  })
})

test("a service with --dev lets everybody create keys, as it lets everybody do everything", async () => {
  const database = await createDatabase("sqlite")
  const server = await startServer({ databaseUrl: database.url })
  const transport = createGrpcTransport({ baseUrl: server.grpcUrl })
  const { key } = await createClient(ApiKeyService, transport).createApiKey({ name: "n", scopes: ["users:write"] })
  const reading = createClient(UserService, transport).getUser(
    { id: "u" },
    { headers: { authorization: `Bearer ${key}` } },
  )
  await expect(reading).rejects.toThrow("lacks the scope users:read")
  await server.stop()
  await database.drop()
})
