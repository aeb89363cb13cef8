import type { Caller, Store } from "../../../server/src/store/store.js"
import {
  anyone,
  type ContractContext,
  day,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
} from "./context.js"

/** A write of the store with any result. */
export type Write = (store: Store, caller: Caller) => Promise<unknown>

export interface Call {
  owner?: string
  key?: string
  /** A text that stands for the request. */
  request?: string
  caller?: Caller
}

/** Returns the result of the write with an idempotency key, as callers get it. */
export async function once(store: Store, call: Call, write: Write): Promise<unknown> {
  const { owner = "owner", key = newId(), request = "request", caller = anyone } = call
  const bytes = await store.once(caller, { owner, key, digest: () => request }, async (transaction) =>
    Buffer.from(JSON.stringify(await write(store, { ...caller, transaction }))),
  )
  return JSON.parse(Buffer.from(bytes).toString())
}

export const create: Write = (store, caller) => store.users.create(caller, newUser())

export function newToken(expires: number) {
  return { identifier: `${newId()}@example.com`, token: newId(), expires: new Date(expires) }
}

/**
 * For each kind of write: prepares what it needs and returns it. A second run would fail or return another result,
 * unless an idempotency key prevents it.
 */
export function repeatableWrites(context: ContractContext): Record<string, () => Promise<Write>> {
  const expires = () => context.clock.now + day
  return {
    "users.create": async () => create,
    "users.update": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      return (store, caller) => store.users.update(caller, id, { extra: { [newId()]: 1 } })
    },
    "users.delete": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      return (store, caller) => store.users.delete(caller, id)
    },
    "users.disable": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      await context.store.sessions.create(anyone, newSession(id, expires()))
      return (store, caller) => store.users.disable(caller, id, { reason: "why" })
    },
    "users.enable": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      await context.store.users.disable(anyone, id, {})
      return (store, caller) => store.users.enable(caller, id)
    },
    "accounts.link, a new one": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const account = newAccount(id)
      return (store, caller) => store.accounts.link(caller, { ...account, extra: { [newId()]: 1 } })
    },
    "accounts.link, again": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const account = await context.store.accounts.link(anyone, newAccount(id))
      return (store, caller) => store.accounts.link(caller, { ...account, extra: { [newId()]: 1 } })
    },
    "accounts.unlink": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const account = await context.store.accounts.link(anyone, newAccount(id, { access_token: "a" }))
      return (store, caller) => store.accounts.unlink(caller, account)
    },
    "sessions.create": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const session = newSession(id, expires())
      return (store, caller) => store.sessions.create(caller, session)
    },
    "sessions.update": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { sessionToken } = await context.store.sessions.create(anyone, newSession(id, expires()))
      return (store, caller) => store.sessions.update(caller, sessionToken, { extra: { [newId()]: 1 } })
    },
    "sessions.delete": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { sessionToken } = await context.store.sessions.create(anyone, newSession(id, expires()))
      return (store, caller) => store.sessions.delete(caller, sessionToken)
    },
    "sessions.revoke": async () => {
      const { id: userId } = await context.store.users.create(anyone, newUser())
      const { id = "" } = await context.store.sessions.create(anyone, newSession(userId, expires()))
      return (store, caller) => store.sessions.revoke(caller, id)
    },
    "sessions.revokeOfUser": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      await context.store.sessions.create(anyone, newSession(id, expires()))
      return (store, caller) => store.sessions.revokeOfUser(caller, id, {})
    },
    "sessions.revokeOfUsers": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      await context.store.sessions.create(anyone, newSession(id, expires()))
      return (store, caller) => store.sessions.revokeOfUsers(caller, [id])
    },
    "signals.endProviderSession": async () => {
      const { id: userId } = await context.store.users.create(anyone, newUser())
      const origin = { provider: "idp", providerSessionId: newId() }
      await context.store.sessions.create(anyone, newSession(userId, expires()), origin)
      return (store, caller) => store.signals.endProviderSession(caller, origin)
    },
    "signals.revokeAccount": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const account = await context.store.accounts.link(anyone, newAccount(id, { refresh_token: "r" }))
      await context.store.sessions.create(anyone, newSession(id, expires()), { provider: account.provider })
      return (store, caller) => store.signals.revokeAccount(caller, account, { sessions: true, tokens: "all" })
    },
    "signals.endTokens": async () => (store, caller) =>
      store.signals.endTokens(caller, { provider: "idp", userId: newId() }).then(() => newId()),
    "verificationTokens.create": async () => {
      const token = newToken(expires())
      return (store, caller) => store.verificationTokens.create(caller, token)
    },
    "verificationTokens.use": async () => {
      const token = await context.store.verificationTokens.create(anyone, newToken(expires()))
      return async (store, caller) => {
        const used = await store.verificationTokens.use(caller, token)
        if (used === null) throw new Error("the token is gone")
        return used
      }
    },
    "authenticators.create": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const authenticator = newAuthenticator(id)
      return (store, caller) => store.authenticators.create(caller, authenticator)
    },
    "authenticators.updateCounter": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { credentialID } = await context.store.authenticators.create(anyone, newAuthenticator(id))
      let counter = 1
      return (store, caller) => store.authenticators.updateCounter(caller, credentialID, counter++)
    },
    "authenticators.rename": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { credentialID } = await context.store.authenticators.create(anyone, newAuthenticator(id))
      let count = 1
      return (store, caller) => store.authenticators.rename(caller, credentialID, `name ${count++}`)
    },
    "authenticators.delete": async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { credentialID } = await context.store.authenticators.create(anyone, newAuthenticator(id))
      return (store, caller) => store.authenticators.delete(caller, credentialID)
    },
  }
}
