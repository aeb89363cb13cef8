import type { SessionContext } from "./context.js"
import type { SessionAgeOptions } from "./session-access.js"

/** Options of the adapter. */
export interface AdapterOptions {
  /**
   * Returns the context of the current request. It is called at every `createSession`. The session is created after the
   * result is available, and is not created if the function throws. Default: sessions are created without a context, except for
   * the provider and the session there, where `withAuthwire` or `withRequestContext` knows them.
   */
  context?: (() => SessionContext | null | undefined | Promise<SessionContext | null | undefined>) | undefined
  /**
   * Reads and extends a session with one call, AccessSession, instead of the two calls of Auth.js. `getSessionAndUser`
   * then returns the extended session. Set the same ages as `session` of the Auth.js configuration, or `{}` if it has
   * none. With other ages, or an `updateAge` of 0, Auth.js extends the session with an additional call. The API key
   * needs the scopes `sessions:read` and `sessions:write`. Default: two calls.
   */
  sessions?: SessionAgeOptions | undefined
  /**
   * The events that sign the user out on all devices, including the current one, in the same transaction. `emailChange`
   * is an `updateUser` that changes or removes the e-mail address. `unlinkAccount` is every call of that method. The
   * API key needs the scope `sessions:write` for these calls. Default: none.
   */
  signOutOn?: readonly SignOutEvent[] | undefined
  /**
   * Answers `getSessionAndUser` from memory while the service confirms that the cached sessions are current. The
   * service announces every change, and the cache is not used if the last confirmation is older than `maxStaleMs`.
   * Changes by this client take effect immediately. Use `{}` for the defaults. The cache requires a gRPC connection
   * that this package creates: neither the client over `fetch` nor a client with the option `transport` accepts this
   * option. The API key needs the scope `sessions:read`. Default: every call asks the service.
   */
  sessionCache?: SessionCacheOptions | undefined
}

/** Options of RemoteJwt. */
export interface JwtOptions {
  /**
   * Issues session tokens of next-auth 4, and reads them besides those of Auth.js. Set it in an application of next-auth
   * 4, and in an application of Auth.js that shares its sessions. Default: false.
   */
  nextAuth4?: boolean | undefined
}

/** An event that can sign a user out on all devices; see the option `signOutOn`. */
export type SignOutEvent = "emailChange" | "unlinkAccount"

/** Options of the session cache in the memory of the application. */
export interface SessionCacheOptions {
  /**
   * The longest time that a session is still returned from memory after it has changed or ended, if the connection to
   * the service is lost, in milliseconds. While the connection works, the service announces each change at once. A
   * whole number from 200 to 10,000. Default: 1,000.
   */
  maxStaleMs?: number | undefined
  /**
   * The maximum number of cached sessions. The least recently used session is evicted first. From 1 to 1,000,000.
   * Default: 10,000.
   */
  size?: number | undefined
}
