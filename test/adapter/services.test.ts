import { type AuthwireClient, AuthwireError, createAuthwireClient } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import * as schema from "@authwire/proto"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import type { AnyDesc } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals"

/** Services that are part of the transport, and no clients. */
const transports = ["PipelineService", "SessionCacheService"]

// The typed clients of the services that the adapter does not need.
describe.each(["gRPC", "fetch"])("typed clients over %s", (protocol) => {
  const admin = [
    "all",
    "users:private",
    "keys:read",
    "keys:write",
    "session-policy:write",
    "tenants:read",
    "tenants:write",
    "webhooks:write",
  ]
  const key = staticKey(admin)
  const authwire = useAuthwire("sqlite", { keys: [key], args: ["--audit-store=database"] })
  let client: AuthwireClient

  beforeAll(() => {
    const { grpcUrl, httpUrl } = authwire.server
    client =
      protocol === "gRPC"
        ? createAuthwireClient({ url: grpcUrl, apiKey: key.text })
        : createEdgeClient({ url: httpUrl, apiKey: key.text })
  })
  afterAll(() => client.close())

  async function itemsOf<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
    const items: Item[] = []
    for await (const item of list) items.push(item)
    return items
  }

  test("every method of every service of the schema is one of a client", () => {
    const services = (Object.values(schema) as (AnyDesc | object)[]).flatMap((value) =>
      "kind" in value && value.kind === "service" && !transports.includes(value.name) ? [value] : [],
    )
    expect(services.length).toBeGreaterThan(12)
    const { close: _, adapter: __, jwt: ___, ...clients } = client
    const offered = new Set(Object.values(clients).flatMap((methods) => Object.keys(methods)))
    const missing = services.flatMap(({ methods }) =>
      methods.flatMap(({ localName }) => (offered.has(localName) ? [] : localName)),
    )
    expect(missing).toEqual([])
  })

  test("every method that returns pages has a list, but for the parts of a document", () => {
    const paged = (Object.values(schema) as (AnyDesc | object)[]).flatMap((value) =>
      "kind" in value && value.kind === "service"
        ? value.methods.filter(({ output }) => output.field.nextPageToken).map(({ name }) => name)
        : [],
    )
    const { users, accounts, sessions, authenticators, audit, apiKeys, tenants, webhooks } = client
    const lists = {
      ListUsers: users.list,
      ListAccountsByUser: accounts.listByUser,
      ListSessions: sessions.list,
      ListAuthenticators: authenticators.list,
      ListAuditEntries: audit.list,
      ListApiKeys: apiKeys.list,
      ListTenants: tenants.list,
      ListWebhooks: webhooks.list,
      ListDeliveries: webhooks.deliveries,
    }
    expect(paged.sort()).toEqual(["ExportUser", ...Object.keys(lists)].sort())
    expect(Object.values(lists)).toEqual(Object.values(lists).map(() => expect.any(Function)))
  })

  test("every call of every client rejects with AuthwireError, also those of lists and of streams", async () => {
    // The rejected pipeline is logged.
    jest.spyOn(console, "warn").mockImplementation(() => {})
    const { grpcUrl, httpUrl } = authwire.server
    const stranger = staticKey(["all"]).text
    const rejecting =
      protocol === "gRPC"
        ? createAuthwireClient({ url: grpcUrl, apiKey: stranger })
        : createEdgeClient({ url: httpUrl, apiKey: stranger })
    const { close, adapter: _, jwt: __, ...clients } = rejecting
    type Method = (request: unknown) => Promise<unknown> | AsyncIterable<unknown>
    for (const [name, methods] of Object.entries(clients))
      for (const [method, call] of Object.entries(methods as unknown as Record<string, Method>)) {
        const called = call(method === "getMany" ? ["u"] : {})
        const end = Symbol.asyncIterator in called ? itemsOf(called) : called
        const error = await end.catch((thrown) => thrown)
        expect([name, method, error]).toEqual([name, method, expect.any(AuthwireError)])
        expect(error).toMatchObject({
          ...{ code: "UNAUTHENTICATED", reason: "API_KEY_INVALID", cause: expect.any(ConnectError) },
          method: expect.stringMatching(new RegExp(`^${name}[.]\\w+$`)),
        })
      }
    close()
  })

  test("the error of a typed client is that of the adapter, with the client's name in its method", async () => {
    const id = "x".repeat(300)
    const thrown = async (call: Promise<unknown>) =>
      call.then(
        () => new Error("the call succeeded"),
        (error: AuthwireError) => ({ ...error.toJSON(), metadata: Object.keys(error.metadata) }),
      )
    const { message, ...same } = await thrown(client.adapter.getUser(id))
    expect(same).toMatchObject({ reason: "INVALID_FIELD", fieldViolations: [{ field: "id" }] })
    expect(await thrown(client.users.getUser({ id }))).toEqual({
      ...{ ...same, method: "users.getUser" },
      message: `users.${message}`,
    })
    const nobody = { code: "NOT_FOUND", reason: "USER_NOT_FOUND", message: "users.getUser: NOT_FOUND: no such user" }
    await expect(client.users.getUser({ id: "nobody" })).rejects.toMatchObject(nobody)
  })

  test("API keys are created, listed over several pages, and revoked", async () => {
    const names = ["one", "two", "three"]
    for (const name of names) await client.apiKeys.createApiKey({ name, scopes: ["users:read"] })
    const keys = await itemsOf(client.apiKeys.list({ pageSize: 1 }))
    expect(keys.map(({ name }) => name).sort()).toEqual([...names].sort())
    const { apiKey } = await client.apiKeys.revokeApiKey({ id: keys[0]?.id ?? "" })
    expect(apiKey?.revokeTime).toBeDefined()
    expect((await client.apiKeys.getCurrentApiKey({})).id).toBe(key.id)
  })

  test("tenants are created, and listed over several pages", async () => {
    for (const name of ["acme", "beta"])
      await client.tenants.createTenant({ name, apiKeyName: "first", scopes: ["users:read"] })
    expect((await itemsOf(client.tenants.list({ pageSize: 1 }))).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["acme", "beta"]),
    )
  })

  test("the session policy is changed and read", async () => {
    await client.sessionPolicies.updateSessionPolicy({ maxSessions: 3, updateMask: { paths: ["max_sessions"] } })
    expect((await client.sessionPolicies.getSessionPolicy({})).policy).toMatchObject({ maxSessions: 3 })
  })

  test("the audit is listed over several pages, by user", async () => {
    for (const name of ["a", "b", "c"]) {
      if (name === "a") await client.users.createUser({ id: "audited" })
      await client.users.updateUser({ id: "audited", name, updateMask: { paths: ["name"] } })
    }
    const entries = await itemsOf(client.audit.list({ pageSize: 1, filter: { case: "userId", value: "audited" } }))
    expect(entries.map(({ method }) => method)).toEqual([
      ...Array(3).fill("authwire.v1.UserService/UpdateUser"),
      "authwire.v1.UserService/CreateUser",
    ])
  })

  test("the private properties of a user are read, which has none", async () => {
    await client.users.createUser({ id: "private" })
    expect((await client.privateExtras.getPrivateExtra({ userId: "private" })).privateExtra).toBeUndefined()
  })
})
