import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, test } from "@jest/globals"
import type { Account, KeptTokens, RefreshedTokens } from "../../../../server/src/store/types.js"
import { anyone, type ContractContext, newId, oddText } from "../context.js"
import { hour, none, refreshes } from "./refreshes.js"

const tokens: RefreshedTokens = {
  access_token: oddText,
  refresh_token: "r2",
  token_type: "bearer",
  expires_at: 5_000,
  expires_in: 600.5,
}

/** Declares the tests of how token refreshes end: with the provider's answer or with a failure. */
export function refreshOutcomeContract(context: ContractContext): void {
  const { linked, begin, stateOf, rowOf } = refreshes(context)

  describe("complete", () => {
    test("stores the provider's answer, releases the lease, and returns what every later read returns", async () => {
      const account = await linked({ extra: { session_state: "x", custom: [1] } })
      const holder = newId()
      await begin(account, holder)
      const changed = { ...account, ...tokens }
      expect(await context.store.tokenRefreshes.complete(anyone, account, holder, tokens)).toEqual(changed)
      expect(await context.other.accounts.get(anyone, account)).toEqual(changed)
      expect(await rowOf(account)).toEqual(none)
    })

    test("fields that are missing in the answer stay, except the expiry, which becomes unknown", async () => {
      const account = await linked()
      await begin(account, "h")
      const answer = { access_token: "a2", token_type: "bearer" }
      const changed = { ...account, access_token: "a2", expires_at: undefined, expires_in: undefined }
      expect(await context.store.tokenRefreshes.complete(anyone, account, "h", answer)).toEqual(changed)
      expect(await context.other.accounts.get(anyone, account)).toEqual(changed)
    })

    test("stores -0 as 0, and returns 0", async () => {
      const account = await linked()
      await begin(account, "h")
      const changed = { ...account, ...tokens, expires_at: 0, expires_in: 0 }
      const answer = { ...tokens, expires_at: -0, expires_in: -0 }
      expect(await context.store.tokenRefreshes.complete(anyone, account, "h", answer)).toEqual(changed)
      expect(await context.other.accounts.get(anyone, account)).toEqual(changed)
    })

    test("fields of the answer are no longer marked as null", async () => {
      const extra = { expires_at: null, expires_in: null, scope: null, id_token: null, custom: null }
      const account = await linked({ scope: undefined, expires_at: undefined, expires_in: undefined, extra })
      await begin(account, "h")
      await context.store.tokenRefreshes.complete(anyone, account, "h", { ...tokens, scope: "s2" })
      const changed = { ...account, ...tokens, scope: "s2", extra: { id_token: null, custom: null } }
      expect(await context.other.accounts.get(anyone, account)).toEqual(changed)
    })

    test("a holder whose lease has expired stores its result, unless another holder has stored one before", async () => {
      for (const replaced of ["r3", undefined]) {
        const account = await linked()
        await begin(account, "frozen", 1)
        await delay(5)
        expect(await begin(account, "next", hour, context.other)).toMatchObject({ taken: true })
        const newer = { access_token: "a3", token_type: "bearer", refresh_token: replaced }
        const stored = await context.other.tokenRefreshes.complete(anyone, account, "next", newer)
        const older = { access_token: "a2", token_type: "bearer", refresh_token: replaced && "r2" }
        expect(await context.store.tokenRefreshes.complete(anyone, account, "frozen", older)).toEqual(stored)
        expect(await context.store.accounts.get(anyone, account)).toEqual(stored)
        expect(stored).toMatchObject({ access_token: "a3", refresh_token: replaced ?? "r1" })
      }
    })

    test("a late holder does not change the lease of another one", async () => {
      const account = await linked()
      await begin(account, "frozen", 1)
      await delay(5)
      await begin(account, "next")
      expect(await context.store.tokenRefreshes.complete(anyone, account, "frozen", tokens)).toMatchObject(tokens)
      expect(await rowOf(account)).toMatchObject({ refresh_holder: "next" })
    })

    test.each([
      ["the refresh token", { refresh_token: "r9" }, tokens, false],
      ["the access token", { access_token: "a9" }, { access_token: "a2", token_type: "bearer" }, false],
      ["the access token, when the provider has replaced the refresh token", { access_token: "a9" }, tokens, true],
      ["something else", { scope: "s9" }, tokens, true],
    ])("linked again meanwhile with another value of %s", async (_, change, answer, isStored) => {
      const account = await linked()
      await begin(account, "h")
      const now = await context.other.accounts.link(anyone, { ...account, ...change })
      const after = await context.store.tokenRefreshes.complete(anyone, account, "h", answer)
      expect(after).toMatchObject({ access_token: isStored ? answer.access_token : now.access_token })
      if (!isStored) expect(after).toEqual(now)
      expect(await context.other.accounts.get(anyone, account)).toEqual(after)
      expect(await rowOf(account)).toEqual(none)
    })

    test("null: unlinked meanwhile; the account is not restored", async () => {
      const account = await linked()
      await begin(account, "h")
      await context.other.accounts.unlink(anyone, account)
      expect(await context.store.tokenRefreshes.complete(anyone, account, "h", tokens)).toBeNull()
      expect(await context.store.accounts.get(anyone, account)).toBeNull()
    })
  })

  describe("fail", () => {
    const refused = { failure: "refused", ms: hour }
    const fail = (account: Account, holder: string, failed: typeof refused & { kept?: KeptTokens } = refused) =>
      context.store.tokenRefreshes.fail(anyone, account, holder, failed)

    test("is visible to all processes for its time; then the lease is free", async () => {
      const account = await linked()
      await begin(account, "h")
      expect(await fail(account, "h")).toEqual(account)
      expect(await stateOf(account)).toEqual({ kind: "failed", failure: "refused", ms: expect.any(Number) })
      expect(await begin(account, "next", hour, context.other)).toMatchObject({
        taken: false,
        refresh: { kind: "failed", failure: "refused" },
      })
      expect(await context.store.accounts.get(anyone, account)).toEqual(account)

      const second = await linked()
      await begin(second, "h")
      await fail(second, "h", { failure: "unavailable:timeout", ms: 1 })
      await delay(5)
      expect(await stateOf(second)).toEqual({ kind: "idle" })
      // The next holder learns of it, so that it can lengthen the pause. A success ends that.
      const next = await begin(second, "next")
      expect(next).toMatchObject({ taken: true, lastFailure: "unavailable:timeout" })
      await fail(second, "next", { failure: "unavailable:timeout:2", ms: 1 })
      await delay(5)
      expect(await begin(second, "third")).toMatchObject({ lastFailure: "unavailable:timeout:2" })
      await context.store.tokenRefreshes.complete(anyone, second, "third", tokens)
      expect((await context.store.tokenRefreshes.get(anyone, second))?.lastFailure).toBeUndefined()
    })

    test("a failure belongs to the refresh token: a new one may be tried at once", async () => {
      const account = await linked()
      await begin(account, "h")
      await fail(account, "h")
      // A link without a refresh token does not change the failure.
      await context.other.accounts.link(anyone, { ...account, access_token: "a2", refresh_token: undefined })
      expect(await stateOf(account)).toMatchObject({ kind: "failed" })
      // Some providers return the same refresh token at the next sign-in.
      await context.other.accounts.link(anyone, account)
      expect(await rowOf(account)).toEqual(none)
      await begin(account, "h")
      await fail(account, "h")
      const now = await context.other.accounts.link(anyone, { ...account, refresh_token: "r2" })
      expect(await stateOf(account)).toEqual({ kind: "idle" })
      expect(await begin(now)).toMatchObject({ taken: true })
    })

    test("a failure of a refresh token that was replaced meanwhile is not recorded", async () => {
      const account = await linked()
      await begin(account, "h")
      const now = await context.other.accounts.link(anyone, { ...account, refresh_token: "r2" })
      expect(await fail(account, "h")).toEqual(now)
      expect(await rowOf(account)).toEqual(none)
    })

    test("stores a new refresh token; nothing else changes, and the failure belongs to the new one", async () => {
      const account = await linked()
      await begin(account, "h")
      const changed = { ...account, refresh_token: "r2" }
      expect(await fail(account, "h", { ...refused, kept: { refresh_token: "r2" } })).toEqual(changed)
      expect(await context.other.accounts.get(anyone, account)).toEqual(changed)
      expect(await stateOf(account)).toMatchObject({ kind: "failed", failure: "refused" })
      // A call that repeats the write because its answer was lost changes nothing.
      expect(await fail(account, "h", { ...refused, kept: { refresh_token: "r2" } })).toEqual(changed)
      expect(await stateOf(account)).toMatchObject({ kind: "failed", failure: "refused" })
    })

    test("stores what there is of the other tokens; the access token is replaced with its expiry", async () => {
      const account = await linked()
      await begin(account, "h")
      const { id_token, ...kept } = { id_token: "i2", access_token: "a2", token_type: "bearer", expires_at: 7 }
      const first = { ...account, id_token }
      expect(await fail(account, "h", { ...refused, kept: { id_token } })).toEqual(first)
      expect(await stateOf(account)).toMatchObject({ kind: "failed" })
      const { expires_in: _, ...second } = { ...first, ...kept }
      expect(await fail(account, "h", { ...refused, kept })).toEqual(second)
      expect(await context.other.accounts.get(anyone, account)).toEqual(second)
    })

    test("a link leaves the lease of a refresh", async () => {
      const account = await linked()
      await begin(account, "h")
      await context.other.accounts.link(anyone, { ...account, refresh_token: "r2" })
      expect(await rowOf(account)).toMatchObject({ refresh_holder: "h" })
    })

    test("does not store a new refresh token if the account has another one meanwhile", async () => {
      const account = await linked()
      await begin(account, "h")
      const now = await context.other.accounts.link(anyone, { ...account, refresh_token: "r9" })
      expect(await fail(account, "h", { ...refused, kept: { refresh_token: "r2" } })).toEqual(now)
      expect(await context.other.accounts.get(anyone, account)).toEqual(now)
      expect(await rowOf(account)).toEqual(none)
    })

    test("a late holder stores a new refresh token, but does not change the lease of another one", async () => {
      const account = await linked()
      await begin(account, "frozen", 1)
      await delay(5)
      await begin(account, "next")
      expect(await fail(account, "frozen", { ...refused, kept: { refresh_token: "r2" } })).toMatchObject({
        refresh_token: "r2",
      })
      expect(await rowOf(account)).toMatchObject({ refresh_holder: "next", refresh_failure: null })
    })

    test("the database does not reveal the refresh token", async () => {
      const [one, other] = await Promise.all([linked(), linked()])
      for (const account of [one, other]) {
        await begin(account, "h")
        await fail(account, "h")
      }
      const { createHash } = await import("node:crypto")
      const row = await rowOf(one)
      expect(String(row?.mark)).toMatch(/^[0-9A-F]{64}$/)
      expect(String(row?.mark).toLowerCase()).not.toBe(createHash("sha256").update("r1").digest("hex"))
    })

    test("null: unlinked meanwhile", async () => {
      const account = await linked()
      await begin(account, "h")
      await context.other.accounts.unlink(anyone, account)
      expect(await fail(account, "h")).toBeNull()
    })
  })
}
