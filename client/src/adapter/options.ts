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
}
