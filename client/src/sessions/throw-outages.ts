import type { AuthConfig } from "@auth/core"
import type { Adapter } from "@auth/core/adapters"
import type { JWTOptions } from "@auth/core/jwt"
import { wrongOption } from "../errors/error.js"
import { type Bounded, sessionDeadline } from "./deadline.js"
import { type FailedReads, failedReads } from "./failed-reads.js"
import { logError } from "./log.js"
import { denyRefused, isAdapterError, rejectingDisabled } from "./refused-sign-ins.js"
import { storeTokens, type TokenConfig } from "./store-tokens.js"
import { SessionUnavailable, toInterruptedSignIn, toSessionUnavailable } from "./unavailable.js"

/** Options for the timeout of session calls. */
export interface SessionOptions {
  /**
   * The timeout of a call that reads or extends a session, or that issues or decodes a token, in milliseconds. For the
   * same time after a timeout, further calls for that session fail at once with the same error, so that a page with
   * several calls waits only once. Sensible range: 500 to 5,000. Default: 2,000.
   */
  sessionTimeoutMs?: number | undefined
}

/** The properties of an Auth.js configuration that are changed here. */
export type SessionConfig = Pick<AuthConfig, "callbacks" | "jwt" | "logger"> & TokenConfig

/** The longest delay of a JavaScript timer, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1

/**
 * Returns an Auth.js configuration that reports outages as errors. By default Auth.js logs a failure of the adapter, or
 * of RemoteJwt, while it reads a session, and continues as if no user were signed in. It even removes the cookie of a
 * JWT session. With the returned configuration Auth.js throws SessionUnavailable instead and sets no cookie. A sign-in
 * during which the current session cannot be read also fails, because it would create a second user. So does a sign-in that
 * an outage interrupts: by itself Auth.js reports an error of the configuration.
 *
 * This includes failed calls of the adapter and of typed clients in the callbacks `jwt` and `session`, except if the
 * service itself has answered about its data, for example that a user does not exist, or has rejected a token.
 *
 * A user who is disabled and signs in gets the error AccessDenied. By itself Auth.js reports an error of the configuration,
 * and with JWT sessions the user would be signed in.
 *
 * It also stores the provider's tokens at every sign-in, as `storeTokens` does.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 * @example
 * ```ts
 * const auth = throwOutages({ adapter: AuthwireAdapter({ url }), providers })
 * app.use("/auth", ExpressAuth(auth))
 * app.get("/", async (request, response) => response.json(await getSession(request, auth)))
 * ```
 */
export function throwOutages<Config extends SessionConfig>(config: Config, options: SessionOptions = {}): Config {
  return outageThrower(options)(config)
}

/**
 * Creates a function that changes configurations as throwOutages does. It is for applications that create a
 * configuration for each request: all of these configurations share the recorded timeouts of sessions.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function outageThrower({ sessionTimeoutMs = 2_000 }: SessionOptions = {}) {
  if (!(typeof sessionTimeoutMs === "number" && sessionTimeoutMs >= 1 && sessionTimeoutMs <= maxTimeoutMs))
    throw wrongOption("sessionTimeoutMs", `must be a number of milliseconds from 1 to ${maxTimeoutMs}`)
  const bounded = sessionDeadline(sessionTimeoutMs)
  const failures = failedReads()
  const occurred = new WeakSet<Error>()
  return <Config extends SessionConfig>(given: Config): Config => {
    const config = storeTokens(given)
    const { adapter, jwt, logger } = config
    const { error: log = logError, warn, debug } = logger ?? {}
    return {
      ...config,
      ...(adapter && { adapter: boundAdapter(adapter, bounded, failures) }),
      ...(jwt && { jwt: boundJwt(jwt, bounded, failures) }),
      callbacks: rejectingDisabled(config.callbacks),
      logger: {
        ...logger,
        // The methods of a class are not properties of its instance, and would not be copied.
        ...(warn && { warn }),
        ...(debug && { debug }),
        // Auth.js calls the logger before it reports that no user is signed in. An error that is thrown here becomes
        // the error of the whole request.
        error(error: Error) {
          const unavailable = toSessionUnavailable(error)
          if (unavailable !== undefined) {
            failures.remove(unavailable.cause)
            throw unavailable
          }
          // Auth.js logs an error of the adapter where it occurs, and again if the request ends by it.
          const ends = !isAdapterError(error) || occurred.has(error)
          occurred.add(error)
          if (denyRefused(error)) return
          const interrupted = ends ? toInterruptedSignIn(error) : undefined
          if (interrupted !== undefined) throw interrupted
          log.call(this, error)
          if (error instanceof SessionUnavailable) throw error
        },
      },
    }
  }
}

function boundAdapter(adapter: Adapter, bounded: Bounded, failures: FailedReads): Adapter {
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
    ...(getUser && { getUser: (id: string) => recording(failures, async () => getUser(id)) }),
    ...(getUserByAccount && {
      getUserByAccount: async (account: Parameters<typeof getUserByAccount>[0]) => {
        failures.throwIfAny()
        return getUserByAccount(account)
      },
    }),
    ...(getUserByEmail && {
      getUserByEmail: async (email: string) => {
        failures.throwIfAny()
        return getUserByEmail(email)
      },
    }),
  }
}

async function recording<T>(failures: FailedReads, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    failures.record(error)
    throw error
  }
}

function boundJwt(jwt: Partial<JWTOptions>, bounded: Bounded, failures: FailedReads): Partial<JWTOptions> {
  const { encode, decode } = jwt
  return {
    ...jwt,
    ...(encode && {
      encode: (params: Parameters<typeof encode>[0]) => bounded("encode", undefined, () => encode(params)),
    }),
    ...(decode && {
      decode: (params: Parameters<typeof decode>[0]) =>
        recording(failures, () => bounded("decode", params.token, () => decode(params))),
    }),
  }
}
