import type { SessionCacheOptions } from "../session-cache/options.js"
import type { SessionContext } from "./context.js"
import type { SessionAgeOptions } from "./session-access.js"

/** What the adapter can be told beside how to reach the service. */
export interface AdapterOptions {
  /**
   * Asked at every `createSession` for what is known of the request; the session is created when it has answered, and not
   * at all if it throws. Default: the sessions are created without.
   */
  context?: (() => SessionContext | null | undefined | Promise<SessionContext | null | undefined>) | undefined
  /**
   * Reads and extends a session by one call, AccessSession, where Auth.js makes two. `getSessionAndUser` then returns the
   * session as it is after that, and the `updateSession` that Auth.js may still make for the same request is answered
   * without a call. Give it the ages that `session` of the configuration of Auth.js has; `{}` if that has none. With other
   * ages Auth.js extends the session by a call of its own. The API key needs the scopes `sessions:read` and
   * `sessions:write`. Default: two calls.
   */
  sessions?: SessionAgeOptions | undefined
  /**
   * Which calls sign the user out everywhere, on this device too, in the same transaction: `updateUser` where it gives another
   * e-mail address, or none; `unlinkAccount`. The API key needs the scope `sessions:write` for them. Default: none.
   */
  signOutOn?: readonly SignOutEvent[] | undefined
  /**
   * Answers `getSessionAndUser` from memory, for as long as the service vouches for what is kept: it tells of every change, and
   * what it has not confirmed for `maxStaleMs` is not used. What this client writes itself it sees at once. `{}` for the
   * defaults. Needs a connection over gRPC of its own making; the client over `fetch` takes no such option, and neither does one
   * with the option `transport`. The API key needs the scope `sessions:read`. Default: every call asks the service.
   */
  sessionCache?: SessionCacheOptions | undefined
}

/** What signs a user out everywhere, if the adapter is told so. */
export type SignOutEvent = "emailChange" | "unlinkAccount"
