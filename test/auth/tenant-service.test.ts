import { ApiKeyService, TenantService } from "@authwire/proto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { command, createKey } from "@authwire/test-support/processes/keys.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import type { DescService } from "@bufbuild/protobuf"
import { type Client, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"
import { ask } from "./access/asking.js"

describe("TenantService", () => {
  const keys = {
    operator: staticKey(["all", "keys:write", "tenants:read", "tenants:write"]),
    creator: staticKey(["tenants:write", "users:read"]),
    application: staticKey(["all"]),
  }
  const authwire = useAuthwire(serviceDatabase(), { keys: Object.values(keys) })

  function as<Service extends DescService>(service: Service, { text }: { text: string }): Client<Service> {
    return createClient(
      service,
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
  }
  const namesOf = async () => (await as(TenantService, keys.operator).listTenants({})).tenants.map(({ name }) => name)
  const create = (key: { text: string }, name: string, more: { apiKeyName?: string; scopes?: string[] } = {}) =>
    as(TenantService, key).createTenant({ name, apiKeyName: "first", scopes: ["users:read"], ...more })
  const rejection = (call: Promise<unknown>) =>
    call.then(
      () => "none",
      (error) => ConnectError.from(error).rawMessage,
    )

  test("a tenant is created with a key that reaches it and nothing else; a repeated call creates no other", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() }
    const request = { name: "acme", apiKeyName: "Zoë", scopes: ["all", "keys:write"] }
    const first = await as(TenantService, keys.operator).createTenant(request, { headers })
    expect(await as(TenantService, keys.operator).createTenant(request, { headers })).toEqual(first)
    const { tenant, apiKey, key } = first
    expect(tenant?.name).toBe("acme")
    expect(apiKey).toMatchObject({ name: "Zoë", scopes: ["all", "keys:write"], createTime: tenant?.createTime })
    expect(await as(ApiKeyService, { text: key }).getCurrentApiKey({})).toMatchObject({ tenant: "acme" })
    expect(await ask(authwire.server, { text: key })).toBe("USER_NOT_FOUND")
    expect((await as(ApiKeyService, { text: key }).listApiKeys({})).apiKeys.map(({ id }) => id)).toEqual([apiKey?.id])
    expect(await namesOf()).toEqual(["acme", "default"])
    // The creator's key has no access to the tenant, and the tenant's key none to tenants.
    const ofCreator = (await as(ApiKeyService, keys.operator).listApiKeys({})).apiKeys.map(({ id }) => id)
    expect(ofCreator).not.toContain(apiKey?.id)
    expect((await as(ApiKeyService, keys.operator).revokeApiKey({ id: apiKey?.id ?? "" })).apiKey).toBeUndefined()
    const asTenant = as(TenantService, { text: key })
    expect(await rejection(asTenant.listTenants({}))).toBe("the API key lacks the scope tenants:read")
    expect(await rejection(create({ text: key }, "more"))).toBe("the API key lacks the scope tenants:write")
    expect(await failureOf(create(keys.operator, "acme"))).toMatchObject({
      code: "AlreadyExists",
      infos: [{ reason: "TENANT_ALREADY_EXISTS" }],
    })
    // The command ends what a call has created.
    expect(await command(authwire.database, "tenants", "delete", "acme", "--confirm", "acme")).toContain("deleted acme")
    await until(async () => (await ask(authwire.server, { text: key })) === "API_KEY_INVALID")
    expect(await namesOf()).toEqual(["default"])
  })

  test("an application's key with the scope `all` neither lists nor creates tenants", async () => {
    const calls = [as(TenantService, keys.application).listTenants({}), create(keys.application, "mine")]
    expect(await Promise.all(calls.map(rejection))).toEqual([
      "the API key lacks the scope tenants:read",
      "the API key lacks the scope tenants:write",
    ])
  })

  test("nobody can give the first key a scope without having it", async () => {
    for (const scope of ["all", "tenants:read", "users:write"]) {
      const message = `the API key lacks the scope ${scope}`
      expect(await rejection(create(keys.creator, "more", { scopes: ["users:read", scope] }))).toBe(message)
    }
    expect(await namesOf()).toEqual(["default"])
    expect(await rejection(as(TenantService, keys.creator).listTenants({}))).toMatch(/tenants:read/)
  })

  test.each([
    ["a name with a capital", "Acme", {}, /^name/],
    ["a name that begins with -", "-acme", {}, /^name/],
    ["a name of 64 characters", "a".repeat(64), {}, /^name/],
    ["a name with a line", "acme\n", {}, /^name/],
    ["a key without a name", "acme", { apiKeyName: "" }, /^api_key_name/],
    ["no scope", "acme", { scopes: [] }, /^scopes/],
    ["a scope that does not exist", "acme", { scopes: ["users:all"] }, /^scopes\[0\]: must be one of all, /],
  ])("INVALID_FIELD: %s", async (_, name, more, message) => {
    expect(await rejection(create(keys.operator, name, more))).toMatch(message)
    expect(await namesOf()).toEqual(["default"])
  })

  test("calls create at most 1,000 tenants; the command creates more", async () => {
    const rows = Array.from({ length: 998 }, (_, n) => `('t${n}', '2026-01-01 00:00:00.000')`)
    await authwire.database.query(`INSERT INTO tenants (name, created) VALUES ${rows.join(", ")}`)
    await create(keys.operator, "last")
    const message = "name: must be that of one of at most 1000 tenants: the command creates more"
    expect(await rejection(create(keys.operator, "next"))).toBe(message)
    expect(await rejection(create(keys.operator, "last"))).toBe("a tenant has this name")
    await command(authwire.database, "tenants", "create", "next")
    const key = await createKey(authwire.database, "users:read", "--tenant", "next")
    expect(await ask(authwire.server, key)).toBe("USER_NOT_FOUND")
  })
})
