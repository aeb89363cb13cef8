import * as fc from "fast-check"
import type { Caller, Store } from "../../../../server/src/store/store.js"
import { allPages } from "../pages.js"

/** One call of a store method. */
export interface Operation {
  /** The name, for the report of a counterexample. */
  name: string
  /** @param mark is part of the stored data and shows whose data it is. */
  run(store: Store, caller: Caller, mark: string): Promise<unknown>
}

// Few names, so that operations meet within one tenant and across tenants.
const name = fc.constantFrom("a", "b")
const userId = fc.option(name, { nil: undefined })
const email = fc.constantFrom("a@example.com", "A@example.com", "b@example.com", undefined)
const soon = new Date(Date.UTC(2031, 0, 1))
const past = new Date(Date.UTC(2029, 0, 1))
/** An extension that is always due: it extends `soon` whenever it runs. */
const extension = { maxAge: 3_153_600_000_000, updateAge: 0 }

function operation<T>(
  kind: string,
  given: fc.Arbitrary<T>,
  run: (store: Store, caller: Caller, given: T, mark: string) => Promise<unknown>,
): fc.Arbitrary<Operation> {
  return given.map((value) => ({
    name: `${kind} ${JSON.stringify(value)}`,
    run: (store, caller, mark) => run(store, caller, value, mark),
  }))
}

/** Operations for every method of the store, with names from a small set. */
export const operations: fc.Arbitrary<Operation> = fc.oneof(
  operation("create user", fc.record({ id: name, email }), (store, caller, user, of) =>
    store.users.create(caller, { ...user, extra: { of } }),
  ),
  operation("get user", name, (store, caller, id) => store.users.get(caller, id)),
  operation("get user with times", name, (store, caller, id) => store.users.getWithTimes(caller, id)),
  operation("get private extra", name, (store, caller, id) => store.users.getPrivateExtra(caller, id)),
  operation("get user by email", fc.constantFrom("a@example.com", "b@example.com"), (store, caller, address) =>
    store.users.getByEmail(caller, address),
  ),
  operation("get user by account", name, (store, caller, id) =>
    store.users.getByAccount(caller, { provider: "p", providerAccountId: id }),
  ),
  operation("update user", fc.record({ id: name, email }), (store, caller, { id, ...patch }) =>
    store.users.update(caller, id, { ...patch, extra: { touched: true } }),
  ),
  operation("list users", fc.record({ email }), (store, caller, filter) =>
    allPages(1, (page) => store.users.list(caller, filter, page)),
  ),
  operation("find users", fc.constantFrom("a", "b"), async (store, caller, text) => [
    await allPages(1, (page) => store.users.list(caller, { emailPrefix: text }, page)),
    await allPages(1, (page) => store.users.list(caller, { provider: "p" }, page)),
    await store.users.getMany(caller, [text, "none"]),
  ]),
  operation("list sessions of all users", fc.constant(undefined), async (store, caller) => {
    const pages = await allPages(1, (page) => store.sessions.list(caller, {}, page))
    return pages.map(([session]) => JSON.stringify({ ...session, id: undefined })).sort()
  }),
  operation("count users", fc.record({ email }), (store, caller, filter) => store.users.count(caller, filter)),
  operation("list accounts", name, (store, caller, userId) =>
    allPages(1, (page) => store.accounts.listByUser(caller, userId, page, { tokens: true })),
  ),
  operation("delete user", name, (store, caller, id) => store.users.delete(caller, id)),
  operation("disable user", name, (store, caller, id, of) => store.users.disable(caller, id, { reason: of })),
  operation("enable user", name, (store, caller, id) => store.users.enable(caller, id)),
  operation("link account", fc.record({ userId: name, providerAccountId: name }), (store, caller, account, of) =>
    store.accounts.link(caller, { ...account, provider: "p", type: "oauth", access_token: of, extra: { of } }),
  ),
  operation("get account", name, (store, caller, id) =>
    store.accounts.get(caller, { provider: "p", providerAccountId: id }),
  ),
  operation("find access token", name, (store, caller, userId) =>
    store.tokenRefreshes.get(caller, { userId, provider: "p", providerAccountId: "a" }),
  ),
  operation("refresh token", fc.record({ userId: name, providerAccountId: name }), async (store, caller, key, of) => {
    const read = await store.tokenRefreshes.get(caller, { ...key, provider: "p" })
    if (read === null) return null
    const begun = await store.tokenRefreshes.begin(caller, read.account, { holder: of, ms: 60_000 })
    return store.tokenRefreshes
      .complete(caller, read.account, of, { access_token: of, token_type: "bearer" })
      .then((account) => [begun?.taken, account])
  }),
  operation("unlink account", name, (store, caller, id) =>
    store.accounts.unlink(caller, { provider: "p", providerAccountId: id }),
  ),
  operation(
    "create session",
    fc.record({ sessionToken: name, userId: name, expires: fc.constantFrom(soon, past) }),
    (store, caller, session, of) => store.sessions.create(caller, { ...session, extra: { of } }),
  ),
  operation("get session", name, (store, caller, token) => store.sessions.getWithUser(caller, token)),
  operation("access session", name, (store, caller, token) => store.sessions.access(caller, token, extension)),
  operation("update session", fc.record({ token: name, userId: name }), (store, caller, { token, userId }) =>
    store.sessions.update(caller, token, { userId, extra: { touched: true } }),
  ),
  operation("delete session", name, (store, caller, token) => store.sessions.delete(caller, token)),
  operation("list sessions", name, async (store, caller, userId) => {
    const pages = await allPages(1, (page) => store.sessions.list(caller, { userId }, page))
    // Sessions of one millisecond are in the order of their ids, which are random.
    return pages.map(([session]) => JSON.stringify({ ...session, id: undefined })).sort()
  }),
  operation("revoke session", name, async (store, caller, token) => {
    const id = (await store.sessions.getWithUser(caller, token))?.session.id ?? "none"
    return [await store.sessions.get(caller, id), await store.sessions.revoke(caller, id)]
  }),
  operation("revoke sessions of user", fc.record({ id: name, sessionToken: name }), (store, caller, { id, ...kept }) =>
    store.sessions.revokeOfUser(caller, id, kept),
  ),
  operation("revoke sessions", name, (store, caller, id) => store.sessions.revokeOfUsers(caller, [id])),
  operation("create token", fc.record({ identifier: name, token: name }), (store, caller, key) =>
    store.verificationTokens.create(caller, { ...key, expires: soon }),
  ),
  operation("use token", fc.record({ identifier: name, token: name }), (store, caller, key) =>
    store.verificationTokens.use(caller, key),
  ),
  operation("create authenticator", fc.record({ credentialID: name, userId: name }), (store, caller, given, of) =>
    store.authenticators.create(caller, {
      ...given,
      providerAccountId: "p",
      credentialPublicKey: "k",
      counter: 1,
      credentialDeviceType: "singleDevice",
      credentialBackedUp: false,
      extra: { of },
    }),
  ),
  operation("get authenticator", name, (store, caller, id) => store.authenticators.get(caller, id)),
  operation("list authenticators", name, (store, caller, id) => store.authenticators.listByUserId(caller, id)),
  operation("list pages of authenticators", name, (store, caller, id) =>
    allPages(1, (page) => store.authenticators.list(caller, id, page)),
  ),
  operation("rename authenticator", fc.record({ id: name, userId }), (store, caller, { id, userId }, of) =>
    store.authenticators.rename(caller, id, of, userId),
  ),
  operation("delete authenticator", fc.record({ id: name, userId }), (store, caller, { id, userId }) =>
    store.authenticators.delete(caller, id, userId),
  ),
  operation("raise counter", fc.record({ id: name, to: fc.integer({ min: 0, max: 3 }) }), (store, caller, { id, to }) =>
    store.authenticators.updateCounter(caller, id, to),
  ),
)
