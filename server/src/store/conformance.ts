import { afterAll, beforeAll, describe } from "@jest/globals"
import { accountListContract } from "./conformance/accounts/account-lists.js"
import { accountContract } from "./conformance/accounts/accounts.js"
import { refreshOutcomeContract } from "./conformance/accounts/refresh-outcomes.js"
import { tokenRefreshContract } from "./conformance/accounts/token-refreshes.js"
import { auditContract } from "./conformance/audit.js"
import { authenticatorChangeContract } from "./conformance/authenticator-changes.js"
import { authenticatorContract } from "./conformance/authenticators.js"
import { cacheContract } from "./conformance/caches.js"
import type { ContractContext, OpenStoreDatabase, StoreDatabase } from "./conformance/context.js"
import { etagContract } from "./conformance/etags.js"
import { eventLogContract } from "./conformance/event-log.js"
import { eventContract } from "./conformance/events.js"
import { expiredContract } from "./conformance/expired.js"
import { idempotencyContract } from "./conformance/idempotency.js"
import { leaseContract } from "./conformance/leases.js"
import { rowTimeContract } from "./conformance/row-times.js"
import { sessionAccessContract } from "./conformance/sessions/session-access.js"
import { sessionCountContract } from "./conformance/sessions/session-counts.js"
import { sessionLimitContract } from "./conformance/sessions/session-limits.js"
import { sessionListContract } from "./conformance/sessions/session-lists.js"
import { sessionPolicyContract } from "./conformance/sessions/session-policies.js"
import { sessionRevocationContract } from "./conformance/sessions/session-revocations.js"
import { sessionContract } from "./conformance/sessions/sessions.js"
import { signOutContract } from "./conformance/sessions/sign-outs.js"
import { signOutOfAllContract } from "./conformance/sessions/sign-outs-of-all.js"
import { tenantSessionContract } from "./conformance/sessions/tenant-sessions.js"
import { apiKeyContract } from "./conformance/tenants/api-keys.js"
import { callerContract } from "./conformance/tenants/callers.js"
import { tenantContract } from "./conformance/tenants/tenants.js"
import { foundUserContract } from "./conformance/users/found-users.js"
import { provisionalUserContract } from "./conformance/users/provisional-users.js"
import { userChangeContract } from "./conformance/users/user-changes.js"
import { userDeletionContract } from "./conformance/users/user-deletions.js"
import { userDisablingContract } from "./conformance/users/user-disabling.js"
import { userListContract } from "./conformance/users/user-lists.js"
import { userContract } from "./conformance/users/users.js"
import { verificationTokenContract } from "./conformance/verification-tokens.js"
import type { Store } from "./store.js"

export type { OpenStoreDatabase, StoreDatabase } from "./conformance/context.js"

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
    describe("times of rows", () => rowTimeContract(context))
    describe("token refreshes", () => tokenRefreshContract(context))
    describe("token refreshes", () => refreshOutcomeContract(context))
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
    describe("expired rows", () => expiredContract(context))
    describe("provisional users", () => provisionalUserContract(context))
    describe("callers", () => callerContract(context))
  })
}
