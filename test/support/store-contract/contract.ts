import { afterAll, beforeAll, describe } from "@jest/globals"
import type { Store } from "../../../server/src/store/store.js"
import { accountListContract } from "./accounts/account-lists.js"
import { accountContract } from "./accounts/accounts.js"
import { refreshOutcomeContract } from "./accounts/refresh-outcomes.js"
import { tokenRefreshContract } from "./accounts/token-refreshes.js"
import { auditContract } from "./audit.js"
import { authenticatorChangeContract } from "./authenticator-changes.js"
import { authenticatorContract } from "./authenticators.js"
import { cacheContract } from "./caches.js"
import type { ContractContext, OpenStoreDatabase, StoreDatabase } from "./context.js"
import { etagContract } from "./etags.js"
import { eventLogContract } from "./event-log.js"
import { eventContract } from "./events.js"
import { expiredContract } from "./expired.js"
import { idempotencyContract } from "./idempotency.js"
import { leaseContract } from "./leases.js"
import { pageTokenContract } from "./pages.js"
import { rowTimeContract } from "./row-times.js"
import { sessionAccessContract } from "./sessions/session-access.js"
import { sessionCountContract } from "./sessions/session-counts.js"
import { sessionLimitContract } from "./sessions/session-limits.js"
import { sessionListContract } from "./sessions/session-lists.js"
import { sessionPolicyContract } from "./sessions/session-policies.js"
import { sessionRevocationContract } from "./sessions/session-revocations.js"
import { sessionContract } from "./sessions/sessions.js"
import { signOutContract } from "./sessions/sign-outs.js"
import { signOutOfAllContract } from "./sessions/sign-outs-of-all.js"
import { tenantSessionContract } from "./sessions/tenant-sessions.js"
import { signalContract } from "./signals.js"
import { signingKeyContract } from "./signing-keys.js"
import { apiKeyContract } from "./tenants/api-keys.js"
import { callerContract } from "./tenants/callers.js"
import { tenantContract } from "./tenants/tenants.js"
import { foundUserContract } from "./users/found-users.js"
import { provisionalUserContract } from "./users/provisional-users.js"
import { userChangeContract } from "./users/user-changes.js"
import { userDeletionContract } from "./users/user-deletions.js"
import { userDisablingContract } from "./users/user-disabling.js"
import { userListContract } from "./users/user-lists.js"
import { userContract } from "./users/users.js"
import { verificationTokenContract } from "./verification-tokens.js"
import { webhookContract } from "./webhooks.js"

export type { OpenStoreDatabase, StoreDatabase } from "./context.js"

/**
 * Declares the tests that hold for every store.
 *
 * @param name the prefix of the test names.
 * @param open creates an empty database with its tables, which all tests share.
 */
export function storeContract(name: string, open: OpenStoreDatabase): void {
  describe(name, () => {
    let database: StoreDatabase
    let store: Store
    let other: Store
    const clock = { now: Date.UTC(2030, 0, 1) }

    beforeAll(async () => {
      database = await open()
      const options = { clock: () => clock.now, eventsKeepMs: 86_400_000 }
      store = await database.openStore(options)
      other = await database.openStore(options)
    })
    afterAll(() => database.drop())

    const context: ContractContext = {
      get store() {
        return store
      },
      get other() {
        return other
      },
      get database() {
        return database
      },
      clock,
    }
    describe("users", () => userContract(context))
    describe("users", () => userChangeContract(context))
    describe("users", () => userListContract(context))
    describe("users", () => foundUserContract(context))
    describe("users", () => userDeletionContract(context))
    describe("users", () => userDisablingContract(context))
    describe("accounts", () => accountContract(context))
    describe("accounts", () => accountListContract(context))
    describe("sessions", () => sessionContract(context))
    describe("sessions", () => sessionAccessContract(context))
    describe("sessions", () => sessionListContract(context))
    describe("sessions", () => sessionRevocationContract(context))
    describe("sessions", () => sessionCountContract(context))
    describe("sessions", () => tenantSessionContract(context))
    describe("sessions", () => signOutContract(context))
    describe("session policies", () => sessionPolicyContract(context))
    describe("session policies", () => sessionLimitContract(context))
    describe("sessions", () => signOutOfAllContract(context))
    describe("lists", () => pageTokenContract(context))
    describe("times of rows", () => rowTimeContract(context))
    describe("token refreshes", () => tokenRefreshContract(context))
    describe("token refreshes", () => refreshOutcomeContract(context))
    describe("signals", () => signalContract(context))
    describe("verification tokens", () => verificationTokenContract(context))
    describe("authenticators", () => authenticatorContract(context))
    describe("authenticators", () => authenticatorChangeContract(context))
    describe("etags", () => etagContract(context))
    describe("idempotency keys", () => idempotencyContract(context))
    describe("events", () => eventContract(context))
    describe("events", () => eventLogContract(context))
    describe("audit", () => auditContract(context))
    describe("tenants", () => tenantContract(context))
    describe("API keys", () => apiKeyContract(context))
    describe("caches", () => cacheContract(context))
    describe("leases", () => leaseContract(context))
    describe("signing keys", () => signingKeyContract(context))
    describe("webhooks", () => webhookContract(context))
    describe("expired rows", () => expiredContract(context))
    describe("provisional users", () => provisionalUserContract(context))
    describe("callers", () => callerContract(context))
  })
}
