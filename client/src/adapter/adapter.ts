import type {
  Adapter,
  AdapterAccount,
  AdapterAuthenticator,
  AdapterSession,
  AdapterUser,
  VerificationToken,
} from "@auth/core/adapters"
import type {
  AccountService,
  AuthenticatorService,
  ErrorReason,
  SessionService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto/slim"
import type { Client } from "@connectrpc/connect"
import { callError, isNotFound, wrongOption } from "../errors/error.js"
import { currentSignIn } from "../sign-in-context.js"
import { contextToWire, type SessionContext } from "./context.js"
import * as convert from "./convert.js"
import { counter, providedText, text } from "./field.js"
import type { AdapterOptions } from "./options.js"
import { extensionToWire } from "./session-access.js"

/** The typed clients of the generated services. */
export interface ServiceClients {
  users: Client<typeof UserService>
  accounts: Client<typeof AccountService>
  sessions: Client<typeof SessionService>
  verificationTokens: Client<typeof VerificationTokenService>
  authenticators: Client<typeof AuthenticatorService>
}

/** The 19 methods of the adapter contract. */
export type AuthwireAdapterMethods = ReturnType<typeof createAdapter>

type AccountKey = Pick<AdapterAccount, "provider" | "providerAccountId">

/**
 * Creates the Auth.js adapter from typed clients. It is an object of closures, because Auth.js copies the functions out
 * of it.
 *
 * Every method throws AuthwireError if it fails. Null (or undefined, where the contract says so) means that the service
 * itself reported that the record does not exist, never that the service was unreachable. Otherwise Auth.js would
 * create a second user during an outage.
 *
 * @param clients - The clients to call.
 * @param address - The address of the service, for error messages.
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function createAdapter(clients: ServiceClients, address: string, options: AdapterOptions = {}) {
  const { users, accounts, sessions, verificationTokens, authenticators } = clients

  const calling = adapterMethods(address)
  const { signOutOn = [] } = options
  if (!Array.isArray(signOutOn) || !signOutOn.every((event) => event === "emailChange" || event === "unlinkAccount"))
    throw wrongOption("signOutOn", "must be a list of emailChange and unlinkAccount")
  const extend = options.sessions === undefined ? undefined : extensionToWire(options.sessions)

  /** Creates a method that returns null if the service reports NOT_FOUND with the reason `absence`. */
  function finding<A extends unknown[], T>(
    method: string,
    absence: keyof typeof ErrorReason,
    work: (...given: A) => Promise<T>,
  ): (...given: A) => Promise<T | null> {
    return calling(method, async (...given) => {
      try {
        return await work(...given)
      } catch (error) {
        if (isNotFound(error, absence)) return null
        throw error
      }
    })
  }

  const unlinkAccount = finding("unlinkAccount", "ACCOUNT_NOT_FOUND", async (account: AccountKey) => {
    const revokeSessions = signOutOn.includes("unlinkAccount")
    const answer = await accounts.unlinkAccount({ ...accountKey(account), revokeSessions })
    return convert.accountFromWire(answer.account)
  })

  return {
    /**
     * Creates a user at the beginning of a sign-up. If the service runs with `--provisional-sign-up`, the next sign-up
     * with the same e-mail address replaces the user, unless an account has been linked before. A given `id` is kept,
     * otherwise the service generates a UUID.
     */
    createUser: calling("createUser", async (user: AdapterUser) => {
      const answer = await users.createUser({ ...convert.userToWire(user), provisional: true })
      return convert.userFromWire(answer.user)
    }),

    /** Returns the user with this ID, or null. */
    getUser: finding("getUser", "USER_NOT_FOUND", async (id: string) => {
      const answer = await users.getUser({ id: text("id", id) })
      return convert.userFromWire(answer.user)
    }),

    /** Returns the user with this e-mail address, or null. ASCII case and surrounding white space are ignored. */
    getUserByEmail: finding("getUserByEmail", "USER_NOT_FOUND", async (email: string) => {
      const answer = await users.getUserByEmail({ email: text("email", email) })
      return convert.userFromWire(answer.user)
    }),

    /** Returns the user to which this account is linked, or null. */
    getUserByAccount: finding("getUserByAccount", "USER_NOT_FOUND", async (account: AccountKey) => {
      const answer = await users.getUserByAccount(accountKey(account))
      return convert.userFromWire(answer.user)
    }),

    /** Changes the given properties: undefined leaves one unchanged, null clears it. Throws if there is no user. */
    updateUser: calling("updateUser", async (user: Partial<AdapterUser> & Pick<AdapterUser, "id">) => {
      const revokeSessionsOnEmailChange = signOutOn.includes("emailChange")
      const answer = await users.updateUser({ ...convert.userUpdateToWire(user), revokeSessionsOnEmailChange })
      return convert.userFromWire(answer.user)
    }),

    /** Deletes a user with its accounts, sessions and authenticators. Returns the user; null if there was none. */
    deleteUser: finding("deleteUser", "USER_NOT_FOUND", async (userId: string) => {
      const answer = await users.deleteUser({ id: text("userId", userId) })
      return convert.userFromWire(answer.user)
    }),

    /** Links an account to a user, or updates its tokens if it is already linked to that user. */
    linkAccount: calling("linkAccount", async (account: AdapterAccount) => {
      const answer = await accounts.linkAccount(convert.accountToWire(account))
      return convert.accountFromWire(answer.account)
    }),

    /** Unlinks an account from its user. Returns the unlinked account, or undefined if it was not linked. */
    unlinkAccount: async (account: AccountKey) => (await unlinkAccount(account)) ?? undefined,

    /** Returns the account with this ID at this provider, or null. */
    getAccount: finding("getAccount", "ACCOUNT_NOT_FOUND", async (providerAccountId: string, provider: string) => {
      const answer = await accounts.getAccount(accountKey({ provider, providerAccountId }))
      return convert.accountFromWire(answer.account)
    }),

    /** Creates a session for a user. */
    createSession: calling("createSession", async (session: AdapterSession) => {
      const request = convert.sessionToWire(session)
      const origin = contextToWire(withSignIn(await options.context?.()))
      const answer = await sessions.createSession({ ...request, ...origin })
      return convert.sessionFromWire(answer.session)
    }),

    /** Returns a session that has not expired, and its user; else null. The option `sessions` extends it if due. */
    getSessionAndUser: finding("getSessionAndUser", "SESSION_NOT_FOUND", async (sessionToken: string) => {
      const request = { sessionToken: text("sessionToken", sessionToken) }
      const answer = await (extend === undefined
        ? sessions.getSessionAndUser(request)
        : sessions.accessSession({ ...request, extend }))
      return { session: convert.sessionFromWire(answer.session), user: convert.userFromWire(answer.user) }
    }),

    /** Changes the given properties; undefined leaves one unchanged. Returns null if there is no such session. */
    updateSession: finding(
      "updateSession",
      "SESSION_NOT_FOUND",
      async (session: Partial<AdapterSession> & Pick<AdapterSession, "sessionToken">) => {
        const answer = await sessions.updateSession(convert.sessionUpdateToWire(session))
        return convert.sessionFromWire(answer.session)
      },
    ),

    /** Deletes a session. Returns the deleted session, or null if it did not exist. */
    deleteSession: finding("deleteSession", "SESSION_NOT_FOUND", async (sessionToken: string) => {
      const answer = await sessions.deleteSession({ sessionToken: text("sessionToken", sessionToken) })
      return convert.sessionFromWire(answer.session)
    }),

    /** Stores a verification token. */
    createVerificationToken: calling("createVerificationToken", async (verificationToken: VerificationToken) => {
      const request = convert.verificationTokenToWire(verificationToken)
      const answer = await verificationTokens.createVerificationToken(request)
      return convert.verificationTokenFromWire(answer.verificationToken)
    }),

    /** Deletes a verification token and returns it, even if it has expired; null if there is none. */
    useVerificationToken: finding(
      "useVerificationToken",
      "VERIFICATION_TOKEN_NOT_FOUND",
      async (key: { identifier: string; token: string }) => {
        // An incomplete link lacks one of the values. With null, Auth.js tells the visitor that the link is invalid.
        if (!key.identifier || !key.token) return null
        const answer = await verificationTokens.useVerificationToken({
          identifier: text("identifier", key.identifier),
          token: text("token", key.token),
        })
        return convert.verificationTokenFromWire(answer.verificationToken)
      },
    ),

    /** Returns the authenticator with this credential ID (Base64), or null. */
    getAuthenticator: finding("getAuthenticator", "AUTHENTICATOR_NOT_FOUND", async (credentialID: string) => {
      const answer = await authenticators.getAuthenticator({ credentialId: text("credentialID", credentialID) })
      return convert.authenticatorFromWire(answer.authenticator)
    }),

    /** Stores an authenticator of a user. */
    createAuthenticator: calling("createAuthenticator", async (authenticator: AdapterAuthenticator) => {
      const answer = await authenticators.createAuthenticator(convert.authenticatorToWire(authenticator))
      return convert.authenticatorFromWire(answer.authenticator)
    }),

    /** Returns all authenticators of a user, or an empty list if the user does not exist. */
    listAuthenticatorsByUserId: calling("listAuthenticatorsByUserId", async (userId: string) => {
      const answer = await authenticators.listAuthenticatorsByUserId({ userId: text("userId", userId) })
      return answer.authenticators.map(convert.authenticatorFromWire)
    }),

    /** Sets the counter of an authenticator. Throws if there is none, or its stored counter is higher. */
    updateAuthenticatorCounter: calling(
      "updateAuthenticatorCounter",
      async (credentialID: string, newCounter: number) => {
        const answer = await authenticators.updateAuthenticatorCounter({
          credentialId: text("credentialID", credentialID),
          newCounter: counter("newCounter", newCounter),
        })
        return convert.authenticatorFromWire(answer.authenticator)
      },
    ),
  } satisfies Required<Adapter>
}

/** Adds to a context the provider of the current sign-in, and the session there, if it has no other provider. */
function withSignIn(context: SessionContext | null | undefined): SessionContext {
  const known = currentSignIn()
  const provider = context?.provider ?? known.provider
  const ofProvider = provider === known.provider ? known.providerSessionId : undefined
  return { ...context, provider, providerSessionId: context?.providerSessionId ?? ofProvider }
}

/**
 * Returns a function that creates adapter methods. These convert every error into an AuthwireError that names the
 * method.
 *
 * @param address - The address of the service, for error messages.
 */
export function adapterMethods(address: string) {
  return function calling<A extends unknown[], T>(
    method: string,
    work: (...given: A) => Promise<T>,
  ): (...given: A) => Promise<T> {
    return async (...given) => {
      try {
        return await work(...given)
      } catch (error) {
        throw callError(method, address, error)
      }
    }
  }
}

function accountKey({ provider, providerAccountId }: AccountKey) {
  return {
    provider: text("provider", provider),
    providerAccountId: providedText("providerAccountId", providerAccountId),
  }
}
