import type { AuthConfig } from "@auth/core"
import type { Adapter } from "@auth/core/adapters"
import type { JWTOptions } from "@auth/core/jwt"
import { wrongOption } from "../error.js"
import { type Bounded, sessionDeadline } from "./deadline.js"
import { logError } from "./log.js"
import { SessionUnavailable, unavailableBy } from "./unavailable.js"
import { type UnreadSession, unreadSession } from "./unread-sessions.js"

/** How long sessions are waited for. */
export interface SessionOptions {
  /**
   * How long a call that reads or extends a session may take, in milliseconds. Who asks again for a session within that time
   * of such a timeout gets the same answer at once: so a page that asks several times waits once. Calls that issue tokens
   * are bounded too. Sane range: 500 to 5,000. Default: 2,000.
   */
  sessionTimeoutMs?: number | undefined
}

/** What is changed of a configuration of Auth.js. */
export type SessionConfig = Pick<AuthConfig, "adapter" | "jwt" | "logger">

/** The longest that a timer of JavaScript can wait, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1

/**
 * A configuration of Auth.js under which an outage is thrown. By itself Auth.js logs a failure of the adapter, or of
 * RemoteJwt, when it reads a session, and answers as if nobody were signed in; it even removes the cookie of a JWT session.
 * With what this function returns, it throws SessionUnavailable then, and sets no cookie. A sign-in that could not read
 * who is signed in already fails too: it would create a second user.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 * @example
 * ```ts
 * const auth = throwOutages({ adapter: AuthwireAdapter({ url }), providers })
 * app.use("/auth/*splat", ExpressAuth(auth))
 * app.get("/", async (request, response) => response.json(await getSession(request, auth)))
 * ```
 */
export function throwOutages<Config extends SessionConfig>(config: Config, options: SessionOptions = {}): Config {
  return outageThrower(options)(config)
}

/**
 * What does that to each configuration of an application that makes a new one for each request: the time-outs of sessions are
 * known to all of them.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function outageThrower({ sessionTimeoutMs = 2_000 }: SessionOptions = {}) {
  if (!(typeof sessionTimeoutMs === "number" && sessionTimeoutMs >= 1 && sessionTimeoutMs <= maxTimeoutMs))
    throw wrongOption("sessionTimeoutMs", `must be a number of milliseconds from 1 to ${maxTimeoutMs}`)
  const bounded = sessionDeadline(sessionTimeoutMs)
  const unread = unreadSession()
  return <Config extends SessionConfig>(config: Config): Config => {
    const { adapter, jwt, logger } = config
    const log = logger?.error ?? logError
    return {
      ...config,
      ...(adapter && { adapter: boundAdapter(adapter, bounded, unread) }),
      ...(jwt && { jwt: boundJwt(jwt, bounded, unread) }),
      logger: {
        ...logger,
        // Auth.js tells the logger before it answers "nobody". What is thrown here comes back as an error of the whole request.
        error(error: Error) {
          const unavailable = unavailableBy(error)
          if (unavailable !== undefined) {
            unread.forget()
            throw unavailable
          }
          log(error)
          if (error instanceof SessionUnavailable) throw error
        },
      },
    }
  }
}

function boundAdapter(adapter: Adapter, bounded: Bounded, unread: UnreadSession): Adapter {
  const { getSessionAndUser, updateSession, getUser, getUserByAccount, getUserByEmail } = adapter
  return {
    ...adapter,
    ...(getSessionAndUser && {
      getSessionAndUser: (sessionToken: string) =>
        bounded("getSessionAndUser", sessionToken, () => getSessionAndUser(sessionToken)),
    }),
    ...(updateSession && {
      updateSession: (session: Parameters<typeof updateSession>[0]) =>
        bounded("updateSession", session.sessionToken, () => updateSession(session)),
    }),
    ...(getUser && { getUser: (id: string) => noting(unread, async () => getUser(id)) }),
    ...(getUserByAccount && {
      getUserByAccount: async (account: Parameters<typeof getUserByAccount>[0]) => {
        unread.throwIfUnread()
        return getUserByAccount(account)
      },
    }),
    ...(getUserByEmail && {
      getUserByEmail: async (email: string) => {
        unread.throwIfUnread()
        return getUserByEmail(email)
      },
    }),
  }
}

async function noting<T>(unread: UnreadSession, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    unread.note(error)
    throw error
  }
}

function boundJwt(jwt: Partial<JWTOptions>, bounded: Bounded, unread: UnreadSession): Partial<JWTOptions> {
  const { encode, decode } = jwt
  return {
    ...jwt,
    ...(encode && {
      encode: (params: Parameters<typeof encode>[0]) => bounded("encode", undefined, () => encode(params)),
    }),
    ...(decode && {
      decode: (params: Parameters<typeof decode>[0]) =>
        noting(unread, () => bounded("decode", params.token, () => decode(params))),
    }),
  }
}
