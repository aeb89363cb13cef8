import { beforeEach, describe, expect, test } from "@jest/globals"
import { type ProviderLoad, providerLoad } from "./provider-load.js"
import type { FailedRefresh, Outcome } from "./token-answer.js"

let now: number
let load: ProviderLoad
beforeEach(() => {
  now = 1_000
  load = providerLoad(() => now)
})
const outage: FailedRefresh = { kind: "unavailable", failure: "timeout" }
const tokens: Outcome = { kind: "tokens", tokens: { access_token: "a", token_type: "bearer" } }
/** The rest of the pause in milliseconds; undefined if there is none. */
function pause(): number | undefined {
  try {
    load.checkPause()
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ reason: "PROVIDER_UNAVAILABLE", metadata: { failure: "paused" } })
    return (error as { retryAfterMs: number }).retryAfterMs
  }
}
const report = (outcome: Outcome, count = 1, account = "a") => {
  for (let n = 0; n < count; n++) load.judged(account, outcome)
}

describe("the pause of a provider", () => {
  test("begins after five outages in a row, and grows until a refresh is answered", () => {
    report(outage, 4)
    expect(pause()).toBeUndefined()
    const pauses = Array.from({ length: 6 }, () => {
      report(outage)
      const ms = pause() as number
      now += ms
      expect(pause()).toBeUndefined()
      return ms
    })
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
    report({ kind: "refused" })
    report(outage, 4)
    expect(pause()).toBeUndefined()
  })

  test("lasts as long as the provider asks for, from its first answer", () => {
    report({ ...outage, failure: "status", status: 429, retryAfterMs: 30_000 })
    expect(pause()).toBe(30_000)
    // The answer to a request that was sent before does not end it.
    report(tokens)
    now += 10_000
    expect(pause()).toBe(20_000)
  })

  test("does not begin by tokens that have expired", () => {
    report({ kind: "unavailable", failure: "expired" }, 20)
    expect(pause()).toBeUndefined()
  })
})

describe("a rejected client", () => {
  const rejected = (account: string, code = "invalid_client") => load.judged(account, { kind: "client", code }).kind

  test("is the client's fault while nothing proves the contrary", () => {
    expect([rejected("a"), rejected("a"), rejected("b")]).toEqual(["client", "client", "client"])
  })

  test("is the grant's if another account was refreshed in the last hour, until another one is rejected too", () => {
    report(tokens, 1, "b")
    expect([rejected("a"), rejected("a")]).toEqual(["refused", "refused"])
    expect(rejected("c")).toBe("client")
    report(tokens, 1, "b")
    expect(rejected("a")).toBe("refused")
    now += 3_600_000
    expect(rejected("a")).toBe("client")
  })

  test("is the client's fault if the providers file says so", () => {
    report(tokens, 1, "b")
    expect(load.judged("a", { kind: "client", code: "weird", isConfigured: true }).kind).toBe("client")
  })

  test("as unauthorized_client is the client's fault only if another account is rejected too", () => {
    expect([rejected("a", "unauthorized_client"), rejected("a", "unauthorized_client")]).toEqual(["refused", "refused"])
    expect(rejected("b", "unauthorized_client")).toBe("client")
  })
})
