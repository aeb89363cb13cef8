import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { EventService, PipelineService, UserService } from "@authwire/proto"
import { until } from "@authwire/test-support/until.js"
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { describe, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { formatKey, hashSecret, newKey } from "../../auth/api-key.js"
import { Key } from "../../auth/key.js"
import { openKeyring } from "../../auth/keyring.js"
import { Failure } from "../../errors/failure.js"
import { ActiveCalls } from "../active-calls.js"
import type { Call, CallConnection, CallOptions } from "../call.js"
import { createRouter, type Method, register } from "../router.js"
import { access } from "./auth.js"

const { getUser, createUser } = UserService.method
const active = new ActiveCalls(1_000)
const parts = newKey()
const both = {
  id: parts.id,
  name: "n",
  tenant: "default",
  scopes: ["users:read"],
  secretHash: hashSecret(parts.secret),
  certificateName: "DNS:app.internal",
  expires: new Date("2100-01-01T00:00:00Z"),
}
/** The same with the scope of every method that the tests call. */
const granted = { ...both, scopes: ["users:read", "events:watch"] }
const onlyCertificate = {
  ...both,
  id: newKey().id,
  tenant: "acme",
  secretHash: undefined,
  certificateName: "DNS:only.internal",
}

/** @param lookUp reads a key from the database. Default: the database has no keys beside `keys`. */
async function setUp(now = Date.now(), keys = [both, onlyCertificate], lookUp = async (): Promise<null> => null) {
  const apiKeys = {
    listValid: async () => ({ keys: [], next: undefined }),
    listChanges: async () => ({ changes: [], until: new Date() }),
    get: lookUp,
  }
  const keyring = await openKeyring({
    apiKeys: apiKeys as never,
    log: pino({ level: "silent" }),
    clock: () => performance.now(),
    now: Date.now,
  })
  keyring.setStaticKeys(keys.map((key) => new Key(key)))
  keyring.stop()
  const { admit } = access({ keyring, now: () => now })
  const countUnauthenticated = jest.fn()
  return {
    keyring,
    /** Called for each call without a valid key. */
    countUnauthenticated,
    /** Returns the key id and tenant of an admitted call, or the reason of its rejection. */
    async enter(
      authorization: string | undefined,
      certificateNames: string[],
      method = getUser,
      pipeline?: Call,
      prefersCertificate = false,
    ) {
      const options: CallOptions = {
        transport: "grpc",
        timeoutMs: undefined,
        header: (name) => (name === "authorization" ? authorization : undefined),
        prefersCertificate,
        connection: { countUnauthenticated, certificateNames } as unknown as CallConnection,
        ...(pipeline === undefined ? {} : { pipeline }),
      }
      const call = active.begin(method, options)
      call.end()
      try {
        await admit?.(method)?.(call)
        return { key: call.identity?.keyId, tenant: call.identity?.tenant, call }
      } catch (error) {
        return (error as { reason: string }).reason
      }
    },
  }
}

describe("the certificate of a client", () => {
  test("is ignored unless its name equals that of a key byte for byte", async () => {
    const { enter } = await setUp()
    for (const name of ["DNS:other.internal", "DNS:APP.internal", "app.internal", "URI:app.internal", ""]) {
      expect(await enter(undefined, [name])).toBe("API_KEY_MISSING")
    }
    expect(await enter(undefined, [])).toBe("API_KEY_MISSING")
  })

  test("is ignored if there is an authorization header, even an invalid one", async () => {
    const { enter } = await setUp()
    for (const header of ["Bearer x", "", `Bearer ${formatKey({ ...newKey(), id: parts.id })}`]) {
      expect(await enter(header, ["DNS:app.internal"])).toBe("API_KEY_INVALID")
    }
    expect(await enter(`Bearer ${formatKey(parts)}`, ["DNS:only.internal"])).toMatchObject({ key: both.id })
  })

  test("takes precedence over the header where a proxy may have forwarded it, if a key has the name", async () => {
    const { enter } = await setUp()
    const preferring = (header: string, name: string) => enter(header, [name], getUser, undefined, true)
    for (const header of ["Bearer x", `Bearer ${formatKey(newKey())}`, `Bearer ${formatKey(parts)}`]) {
      expect(await preferring(header, "DNS:only.internal")).toMatchObject({ key: onlyCertificate.id, tenant: "acme" })
    }
    expect(await preferring(`Bearer ${formatKey(parts)}`, "DNS:other.internal")).toMatchObject({ key: both.id })
    expect(await preferring("Bearer x", "DNS:other.internal")).toBe("API_KEY_INVALID")
    const expired = { ...onlyCertificate, id: newKey().id, expires: new Date(0) }
    const { enter: later } = await setUp(Date.now(), [both, expired])
    const header = `Bearer ${formatKey(parts)}`
    expect(await later(header, ["DNS:only.internal"], getUser, undefined, true)).toBe("API_KEY_MISSING")
  })

  test("is that of the stream for the calls of a pipeline, until the key has another certificate name", async () => {
    const { enter, keyring } = await setUp()
    const stream = await enter(undefined, ["DNS:only.internal"], PipelineService.method.pipeline as never)
    if (typeof stream === "string") throw new Error(stream)
    expect(await enter(undefined, [], getUser, stream.call)).toMatchObject({ key: onlyCertificate.id, tenant: "acme" })
    keyring.setStaticKeys([new Key({ ...onlyCertificate, certificateName: "DNS:new.internal" })])
    expect(await enter(undefined, [], getUser, stream.call)).toBe("API_KEY_INVALID")
  })
})

describe("a connection", () => {
  const unknown = `Bearer ${formatKey(newKey())}`
  const known = `Bearer ${formatKey(parts)}`

  test("counts each call without a valid key", async () => {
    const { enter, countUnauthenticated } = await setUp()
    for (const header of [undefined, "Bearer x", unknown, `Bearer ${formatKey({ ...newKey(), id: parts.id })}`]) {
      countUnauthenticated.mockClear()
      expect(await enter(header, [])).toMatch(/^API_KEY_/)
      expect(countUnauthenticated).toHaveBeenCalledTimes(1)
    }
  })

  test("has the same failure in each call without a valid key, so that none records a stack", async () => {
    const { admit } = access({ keyring: (await setUp()).keyring, now: Date.now })
    const failure = async (header: string | undefined, prefersCertificate = false) => {
      const options = { transport: "grpc", timeoutMs: undefined, header: () => header, prefersCertificate } as const
      const call = active.begin(getUser, options as CallOptions)
      call.end()
      return (async () => admit?.(getUser)?.(call))().catch((error: unknown) => error)
    }
    for (const header of [undefined, "Bearer x", unknown]) {
      for (const prefers of [false, true]) {
        const first = await failure(header, prefers)
        expect(first).toBeInstanceOf(Failure)
        expect(await failure(header, prefers)).toBe(first)
      }
    }
  })

  test("counts a call whose unknown key is not looked up because there are too many of them", async () => {
    const { enter, countUnauthenticated } = await setUp()
    const ends = await Promise.all(Array.from({ length: 100 }, () => enter(`Bearer ${formatKey(newKey())}`, [])))
    const count = (reason: string) => ends.filter((end) => end === reason).length
    expect(count("OVERLOADED")).toBeGreaterThan(40)
    expect(countUnauthenticated).toHaveBeenCalledTimes(count("OVERLOADED") + count("API_KEY_INVALID"))
  })

  test("does not count a call with a valid key, even without the scope", async () => {
    const { enter, countUnauthenticated } = await setUp()
    expect(await enter(known, [])).toMatchObject({ key: both.id })
    expect(await enter(known, [], createUser as never)).toBe("SCOPE_MISSING")
    expect(countUnauthenticated).not.toHaveBeenCalled()
  })

  test("does not count a call whose key cannot be read, because it may be valid", async () => {
    const { enter, countUnauthenticated } = await setUp(Date.now(), [both], () =>
      Promise.reject(new Failure("DATABASE_UNAVAILABLE")),
    )
    expect(await enter(unknown, [])).toBe("DATABASE_UNAVAILABLE")
    expect(countUnauthenticated).not.toHaveBeenCalled()
  })
})

describe("S-16: a call whose key is revoked, or loses its scope, while the call waits", () => {
  /** A call that has passed its admission. `release` ends its wait. */
  async function waiting(kind: "its request" | "its handler" | "its reader") {
    const { keyring } = await setUp(Date.now(), [granted])
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    const router = createRouter({
      services: [
        register(UserService, {
          ...Object.fromEntries(UserService.methods.map(({ localName }) => [localName, async () => ({})])),
          async getUser() {
            reach()
            await released
            return { user: { id: "old" } }
          },
        } as never),
        register(EventService, {
          async *watch() {
            for (let n = 0; ; n++) yield { cursor: `${n}` }
          },
        }),
      ],
      observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
      access: access({ keyring, now: Date.now }),
      interceptors: [],
      maxDeadlineMs: 60_000,
      limitOf: () => undefined,
      pauseAfter: async () => {},
    })
    const [users, events] = router.services.map(({ methods }) => methods)
    const method = (kind === "its reader" ? events?.[0] : users?.find(({ desc }) => desc === getUser)) as Method
    const header = (name: string) => (name === "authorization" ? `Bearer ${formatKey(parts)}` : undefined)
    const call = method.begin({ transport: "test", timeoutMs: undefined, header })
    const request = create(method.desc.input)
    const read = async () => {
      reach()
      await released
      return request
    }
    if (kind !== "its reader") {
      const answer = method.unary(kind === "its request" ? read : () => request, call)
      await reached
      return { keyring, release, call, ended: outcome(answer) }
    }
    const requests = (async function* () {
      yield request
    })()
    const stream = method.stream(requests, call)[Symbol.asyncIterator]()
    await stream.next()
    // Its reader takes the next answer only then.
    return { keyring, release, call, ended: outcome(released.then(() => stream.next())) }
  }
  const outcome = async (answer: Promise<unknown>) => (await Promise.allSettled([answer]))[0]

  const changes: [change: string, keys: object[], reason: string][] = [
    ["is revoked", [], "API_KEY_INVALID"],
    ["loses its scope", [{ scopes: ["sessions:read"] }], "SCOPE_MISSING"],
    ["is another tenant's", [{ tenant: "other" }], "API_KEY_INVALID"],
  ]
  test.each(
    (["its request", "its handler", "its reader"] as const).flatMap((kind) =>
      changes.map(([change, keys, reason]) => [kind, change, keys, reason] as const),
    ),
  )("for %s, gets no answer: %s", async (kind, _, keys, reason) => {
    const { keyring, release, call, ended } = await waiting(kind)
    keyring.setStaticKeys(keys.map((key) => new Key({ ...granted, ...key })))
    await until(() => call.signal.aborted)
    release()
    expect(await ended).toMatchObject({ status: "rejected", reason: { reason } })
    call.end()
  })

  test("is answered if its key is still valid, with the scopes that the key has now", async () => {
    const { keyring, release, call, ended } = await waiting("its handler")
    keyring.setStaticKeys([new Key({ ...granted, scopes: ["users:read", "sessions:read"] })])
    await until(() => call.identity?.hasScope("sessions:read") === true)
    release()
    expect(await ended).toMatchObject({ value: { user: { id: "old" } } })
    call.end()
  })
})

test("a method of the schema without a scope stops the service from starting; foreign methods are open", async () => {
  const bytes = readFileSync(createRequire(import.meta.url).resolve("@authwire/proto/descriptors.binpb"))
  const files = fromBinary(FileDescriptorSetSchema, bytes)
  for (const { service, name } of files.file) {
    if (name === "authwire/v1/user_service.proto") delete service[0]?.method[0]?.options
  }
  const registry = createFileRegistry(files)
  const keyring = (await setUp()).keyring
  const { admit } = access({ keyring, now: Date.now })
  const [method] = registry.getService("authwire.v1.UserService")?.methods ?? []
  expect(() => admit?.(method as never)).toThrow("authwire.v1.UserService/CreateUser has no option (scope)")
  const [check] = registry.getService("grpc.health.v1.Health")?.methods ?? []
  expect(check?.name).toBe("Check")
  expect(admit?.(check as never)).toBeUndefined()
})
