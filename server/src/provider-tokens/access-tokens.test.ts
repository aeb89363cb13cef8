import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import type { Caller, TokenRefreshStore } from "../store/store.js"
import type { Account, RefreshableAccount, UserAccountKey } from "../store/types.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { type AccessTokens, accessTokens } from "./access-tokens.js"
import type { Provider } from "./provider.js"

// The limits and the sharing of refreshes in one process, over a store in memory. test/provider-tokens has several
// processes and a real database.

const now = Date.UTC(2030, 0, 1)
const seconds = now / 1_000
const nobodyAsked = () => {}
const rejected = (reason: string) =>
  expect.objectContaining({ status: "rejected", reason: expect.objectContaining({ reason }) })

/** The refresh tokens that the provider received, each with the response to it. */
let received: { token: string; response: ServerResponse }[]
let answers: (response: ServerResponse, token: string) => void
const answer = (response: ServerResponse, token: string) =>
  response
    .setHeader("content-type", "application/json")
    .end(JSON.stringify({ access_token: `new ${token}`, token_type: "bearer", expires_in: 3_600 }))
const server = createServer(async (request, response) => {
  const token = new URLSearchParams((await buffer(request)).toString()).get("refresh_token") as string
  received.push({ token, response })
  answers(response, token)
})
let provider: Provider
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  provider = {
    tokenEndpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    issuer: undefined,
    clientId: "app",
    clientIdName: "client_id",
    credentials: { method: "none" },
    bodyFormat: "form",
    parameters: {},
    errorCodes: new Map(),
    timeoutMs: 20_000,
    signals: undefined,
  }
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

let ageMs: number
let accounts: Map<string, RefreshableAccount>
let tokens: AccessTokens
let begun: number
/** Holds all leases until it resolves. */
let gate: Promise<void>

const nameOf = ({ tenant }: Caller, { userId, provider }: UserAccountKey) => `${tenant} ${userId} ${provider}`

/** Stores an account whose access token has expired, and returns its key. */
function stored(
  tenant: string,
  userId: string,
  more: Partial<Account> = {},
  refresh: RefreshableAccount["refresh"] = { kind: "idle" },
) {
  const account: Account = {
    provider: "p",
    providerAccountId: "same",
    userId,
    type: "oauth",
    extra: {},
    access_token: "old",
    refresh_token: `r of ${tenant} ${userId}`,
    expires_at: seconds,
    ...more,
  }
  accounts.set(`${tenant} ${userId} ${account.provider}`, { account, refresh, ageMs })
  return { userId, provider: account.provider, providerAccountId: undefined } as unknown as UserAccountKey
}

beforeEach(() => {
  received = []
  answers = answer
  accounts = new Map()
  begun = 0
  ageMs = 60_000
  gate = Promise.resolve()
  const tokenRefreshes: TokenRefreshStore = {
    get: async (caller, key) => {
      const found = accounts.get(nameOf(caller, key))
      return found === undefined ? null : { ...found, ageMs }
    },
    async begin(caller, read) {
      begun++
      await gate
      return { ...(accounts.get(nameOf(caller, read as UserAccountKey)) as RefreshableAccount), taken: true }
    },
    release: async () => {},
    async complete(caller, sent, _, { access_token, expires_at }) {
      const account = { ...sent, access_token, expires_at } as Account
      accounts.set(nameOf(caller, sent as UserAccountKey), { account, refresh: { kind: "idle" }, ageMs })
      return account
    },
    fail: async (_, sent) => sent,
  }
  tokens = accessTokens({
    tokenRefreshes,
    providers: { of: (_, name) => (name === "slow" ? { ...provider, timeoutMs: 5_000 } : provider) },
    log: pino({ enabled: false }),
    now: () => now,
    clock: () => performance.now(),
    elapsed: elapsedTime(),
  })
})

const get = (tenant: string, key: UserAccountKey, signal?: AbortSignal) =>
  tokens.get({ tenant, signal }, key, { minValidityMs: 0 }, nobodyAsked).then(({ access_token }) => access_token)

test("calls share a refresh only if tenant, user and provider are the same", async () => {
  const owners = [
    ["one", "u", "p"],
    ["two", "u", "p"],
    ["one", "v", "p"],
    ["one", "u", "q"],
  ] as const
  const keys = owners.map(([tenant, userId, name]) =>
    stored(tenant, userId, { provider: name, refresh_token: `${tenant} ${userId} ${name}` }),
  )
  const calls = owners.flatMap(([tenant], n) => [1, 2].map(() => get(tenant, keys[n] as UserAccountKey)))
  expect(await Promise.all(calls)).toEqual(
    owners.flatMap(([tenant, userId, name]) => [1, 2].map(() => `new ${tenant} ${userId} ${name}`)),
  )
  expect(received.map(({ token }) => token).toSorted()).toEqual(owners.map((owner) => owner.join(" ")).toSorted())
})

test("a token that expires now is refreshed, even if no validity is asked for", async () => {
  const key = stored("one", "u")
  expect(await get("one", key)).toBe("new r of one u")
  const later = stored("one", "u", { expires_at: seconds + 1 })
  expect(await get("one", later)).toBe("old")
})

test.each([
  ["for long enough", { expires_at: seconds + 300 }, "old"],
  ["for too short a time", { expires_at: seconds + 299 }, "new r of one u"],
  ["for more than half of its lifetime", { expires_at: seconds + 51, expires_in: 100 }, "old"],
  ["for half of its lifetime", { expires_at: seconds + 50, expires_in: 100 }, "new r of one u"],
  ["forever, as far as is known", { expires_at: undefined }, "old"],
  ["for a lifetime of zero", { expires_at: undefined, expires_in: 0 }, "new r of one u"],
  ["for long enough, in milliseconds", { expires_at: now + 300_000 }, "old"],
  ["for too short a time, in milliseconds", { expires_at: now + 299_000 }, "new r of one u"],
])("a token that is valid %s", async (_, validity, expected) => {
  const key = stored("one", "u", validity)
  const { access_token } = await tokens.get({ tenant: "one" }, key, { minValidityMs: 300_000 }, nobodyAsked)
  expect(access_token).toBe(expected)
})

test("force: a token that seems to be valid is refreshed, unless it was written a moment ago", async () => {
  const key = stored("one", "u", { expires_at: seconds + 3_600 })
  const forced = async () =>
    (await tokens.get({ tenant: "one" }, key, { minValidityMs: 0, force: true }, nobodyAsked)).access_token
  expect(await Promise.all([forced(), forced()])).toEqual(["new r of one u", "new r of one u"])
  expect(received).toHaveLength(1)
  ageMs = 29_999
  expect(await forced()).toBe("new r of one u")
  expect(received).toHaveLength(1)
  ageMs = 30_000
  await forced()
  expect(received).toHaveLength(2)
})

test("a provider that asks for a pause is asked for no account; the other providers are not affected", async () => {
  answers = (response, token) =>
    token === "r of one u1" ? response.writeHead(503, { "retry-after": "20" }).end() : answer(response, token)
  await expect(get("one", stored("one", "u1"))).rejects.toMatchObject({ reason: "PROVIDER_UNAVAILABLE" })
  await expect(get("one", stored("one", "u2"))).rejects.toMatchObject({ metadata: { failure: "paused" } })
  expect(received).toHaveLength(1)
  expect(await get("one", stored("one", "u3", { expires_at: seconds + 60 }))).toBe("old")
  expect(await get("one", stored("one", "u4", { provider: "q" }))).toBe("new r of one u4")
})

test("a slow provider fails its own waiting calls when it is paused, and does not delay another provider", async () => {
  answers = (response, token) => void (token.startsWith("fast") && answer(response, token))
  let ended = 0
  const slow = Array.from({ length: 300 }, (_, n) => get("one", stored("one", `u${n}`, { provider: "slow" })))
  for (const call of slow) call.catch(() => ended++)
  const fast = await get("one", stored("one", "v", { provider: "q", refresh_token: "fast" }))
  expect([fast, ended]).toEqual(["new fast", 0])
  const failures = (await Promise.allSettled(slow)).map((one) =>
    one.status === "rejected" ? one.reason.metadata.failure : "none",
  )
  // Those that were asked at the same time, and perhaps a few that began before the fifth failed.
  expect(failures.filter((failure) => failure === "timeout").length).toBeLessThanOrEqual(36)
  expect(new Set(failures)).toEqual(new Set(["timeout", "paused"]))
})

test("while the refresh token has failed, the provider is not asked", async () => {
  const key = stored("one", "u", {}, { kind: "failed", failure: "refused", ms: 1_000 })
  await expect(get("one", key)).rejects.toMatchObject({ reason: "REFRESH_REFUSED", retryAfterMs: 1_000 })
  expect([begun, received]).toEqual([0, []])
})

test("of one provider, 32 accounts are refreshed at the same time", async () => {
  const held = Promise.withResolvers<void>()
  gate = held.promise
  const calls = Array.from({ length: 100 }, (_, n) => get("one", stored("one", `u${n}`)))
  const other = get("two", stored("two", "u"))
  await new Promise(setImmediate)
  expect(begun).toBe(32 + 1)
  held.resolve()
  expect(new Set(await Promise.all(calls)).size).toBe(100)
  expect(await other).toBe("new r of two u")
})

test("a lease that was acquired during a suspension of the machine, as its clocks say, is renewed before it is used", async () => {
  const held = Promise.withResolvers<void>()
  gate = held.promise
  const refreshed = get("one", stored("one", "u"))
  await until(() => begun === 1)
  const time = Date.now
  const clock = jest.spyOn(Date, "now").mockImplementation(() => time() + 60_000)
  held.resolve()
  expect(await refreshed).toBe("new r of one u")
  clock.mockRestore()
  expect([begun, received.length]).toEqual([2, 1])
})

test("1,000 calls may wait for one provider of a tenant; others are not affected, and later calls may wait again", async () => {
  const key = stored("one", "u")
  answers = (response, token) => void (token === "r of two u" && answer(response, token))
  for (let round = 0; round < 2; round++) {
    const abort = new AbortController()
    const calls = Array.from({ length: 1_000 }, () => get("one", key, abort.signal))
    const all = Promise.allSettled(calls)
    await new Promise(setImmediate)
    await expect(get("one", key)).rejects.toMatchObject({ reason: "OVERLOADED" })
    expect(await get("two", stored("two", "u"))).toBe("new r of two u")
    abort.abort(new Error("gone"))
    expect((await all).every((one) => one.status === "rejected" && one.reason.message === "gone")).toBe(true)
  }
  server.closeAllConnections()
})

test("1,000 accounts may wait for one provider of a tenant, although the calls have gone", async () => {
  const held = Promise.withResolvers<void>()
  gate = held.promise
  const abort = new AbortController()
  const calls = Array.from({ length: 1_000 }, (_, n) => get("one", stored("one", `u${n}`), abort.signal))
  const all = Promise.allSettled(calls)
  await new Promise(setImmediate)
  abort.abort(new Error("gone"))
  await all
  const further = stored("one", "further")
  expect(await Promise.allSettled([get("one", further)])).toEqual([rejected("OVERLOADED")])
  held.resolve()
  // The accounts for which no call waits any more are given up, and their places are free.
  await until(() =>
    get("one", further).then(
      (token) => token === "new r of one further",
      () => false,
    ),
  )
  expect(received.map(({ token }) => token)).toEqual(["r of one further"])
})

test("a call gives up if the tokens keep changing without a valid one", async () => {
  const key = stored("one", "u")
  let changes = 0
  // Another process stores another token whenever this one gets the lease.
  const changing = accessTokens({
    tokenRefreshes: {
      get: async () => ({ ...(accounts.get("one u p") as RefreshableAccount) }),
      async begin(_, read) {
        changes++
        const account = { ...read, access_token: `old ${changes}` }
        accounts.set("one u p", { account, refresh: { kind: "idle" }, ageMs })
        return { account, refresh: { kind: "idle" }, ageMs, taken: false }
      },
    } as Partial<TokenRefreshStore> as TokenRefreshStore,
    providers: { of: () => provider },
    log: pino({ enabled: false }),
    now: () => now,
    clock: () => performance.now(),
    elapsed: elapsedTime(),
  })
  await expect(changing.get({ tenant: "one" }, key, { minValidityMs: 0 }, nobodyAsked)).rejects.toMatchObject({
    reason: "CONFLICT",
  })
  expect([changes, received]).toEqual([10, []])
})
