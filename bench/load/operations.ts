import { randomUUID } from "node:crypto"
import type { Adapter } from "@auth/core/adapters"
import type { Contender } from "../contenders/contender.ts"
import { dataExpires, email, provider, providerAccountId, sessionsPerUser, sessionToken, userId } from "../data/keys.ts"

/** The input of an operation. */
export interface Situation extends Pick<Contender, "adapter" | "client"> {
  /** The number of users in the test data. */
  readonly users: number
  /** Returns a number from 0 (inclusive) to 1 (exclusive). The sequence is always the same. */
  readonly random: () => number
}

/** Makes one call, or the calls of one step of Auth.js. */
export type Call = () => Promise<unknown>

/** Returns the token of a random session of the test data. */
export const anySession = ({ users, random }: Situation) => sessionToken(Math.floor(random() * users * sessionsPerUser))

/** The expiry of the sessions and tokens that are created during the measurement. */
const measuredExpires = new Date("2036-01-01T00:00:00Z")

/** The operations that are measured. Each makes the calls that Auth.js makes, and checks the results. */
export const operations = {
  getSessionAndUser: (situation) => {
    const get = method(situation.adapter, "getSessionAndUser")
    return async () => exists(await get(anySession(situation)))
  },

  getUserByAccount: ({ adapter, users, random }) => {
    const get = method(adapter, "getUserByAccount")
    return async () => {
      const user = Math.floor(random() * users)
      return exists(await get({ provider, providerAccountId: providerAccountId(user) }))
    }
  },

  "createSession + deleteSession": ({ adapter, users, random }) => {
    const create = method(adapter, "createSession")
    const remove = method(adapter, "deleteSession")
    return async () => {
      const token = randomUUID()
      await create({ sessionToken: token, userId: userId(Math.floor(random() * users)), expires: measuredExpires })
      await remove(token)
    }
  },

  /** Reads and extends a session that is due for extension, as lib/actions/session.js of @auth/core does. */
  "session that is due": ({ adapter, client, users, random }) => {
    const any = () => anySession({ adapter, users, random })
    if (client !== undefined) {
      // Longer than the sessions of the test data last.
      const extend = { maxAge: { seconds: 1_000_000_000n }, updateAge: {} }
      return async () => {
        const { session, user, extended } = await client.sessions.accessSession({ sessionToken: any(), extend })
        if (!(session && user)) throw new Error("a lookup finds nothing")
        // Not checked, because another caller may have extended the same session in the same millisecond.
        return extended
      }
    }
    const get = method(adapter, "getSessionAndUser")
    const update = method(adapter, "updateSession")
    return async () => {
      const token = any()
      exists(await get(token))
      await update({ sessionToken: token, expires: new Date(Date.now() + 2_592_000_000) })
    }
  },

  /** Creates and uses the token of an e-mail link. */
  "createVerificationToken + useVerificationToken": ({ adapter }) => {
    const create = method(adapter, "createVerificationToken")
    const use = method(adapter, "useVerificationToken")
    return async () => {
      const key = { identifier: `${randomUUID()}@example.com`, token: randomUUID() }
      await create({ ...key, expires: measuredExpires })
      return exists(await use(key))
    }
  },

  /** Signs in a returning user, as lib/actions/callback/handle-login.js of @auth/core does. */
  "sign-in, known user": ({ adapter, users, random }) => {
    const getUserByAccount = method(adapter, "getUserByAccount")
    const createSession = method(adapter, "createSession")
    return async () => {
      const known = Math.floor(random() * users)
      const user = await getUserByAccount({ provider, providerAccountId: providerAccountId(known) })
      if (!user) throw new Error("a user is missing")
      await createSession({ sessionToken: randomUUID(), userId: user.id, expires: measuredExpires })
    }
  },

  /** The same for a user who signs in for the first time. */
  "sign-in, new user": ({ adapter }) => {
    const getUserByAccount = method(adapter, "getUserByAccount")
    const getUserByEmail = method(adapter, "getUserByEmail")
    const createUser = method(adapter, "createUser")
    const linkAccount = method(adapter, "linkAccount")
    const createSession = method(adapter, "createSession")
    return async () => {
      const id = randomUUID()
      const key = { provider, providerAccountId: id }
      const address = `new.${id}@example.com`
      if (await getUserByAccount(key)) throw new Error("a new user is known")
      if (await getUserByEmail(address)) throw new Error("a new user is known")
      const image = `https://avatars.example.com/u/${id}?v=4`
      const user = await createUser({ id, name: "Grace Hopper", email: address, image, emailVerified: null })
      await linkAccount({
        ...key,
        userId: user.id,
        type: "oauth",
        access_token: `gho_${id.replaceAll("-", "")}`,
        token_type: "bearer",
        scope: "read:user,user:email",
      })
      await createSession({ sessionToken: randomUUID(), userId: user.id, expires: measuredExpires })
    }
  },
} satisfies Record<string, (situation: Situation) => Call>

export type OperationName = keyof typeof operations

export const operationNames = Object.keys(operations) as OperationName[]

/**
 * Checks that a contender finds the first and the last user of the test data with their sessions, so that all
 * contenders read the same.
 */
export async function check(adapter: Adapter, users: number): Promise<void> {
  for (const user of [0, users - 1]) {
    const found = await adapter.getSessionAndUser?.(sessionToken(user * sessionsPerUser + 1))
    const byAccount = await adapter.getUserByAccount?.({ provider, providerAccountId: providerAccountId(user) })
    for (const { id, email: address, emailVerified } of [found?.user, byAccount].map(exists)) {
      if (id !== userId(user) || address !== email(user) || emailVerified)
        throw new Error("a lookup finds another user")
    }
    if (found?.session.userId !== userId(user) || found.session.expires.getTime() !== dataExpires.getTime()) {
      throw new Error("a lookup finds another session")
    }
  }
}

function method<Name extends keyof Adapter>(adapter: Adapter, name: Name): NonNullable<Adapter[Name]> {
  const found = adapter[name]
  if (found === undefined) throw new Error(`this contender has no ${name}`)
  return found
}

function exists<T>(found: T | null | undefined): T {
  if (found === null || found === undefined) throw new Error("a lookup finds nothing")
  return found
}
