import { logError4 } from "./log.js"
import { rejectingDisabled } from "./refused-sign-ins.js"
import { outageIn, passes, SessionUnavailable } from "./unavailable.js"

/** The properties of a configuration that are changed here. */
interface Changed {
  readonly callbacks?: Parameters<typeof rejectingDisabled>[0]
  readonly logger?: Logger
}

interface Logger {
  readonly error?: (code: string, metadata: unknown) => void
  readonly warn?: unknown
  readonly debug?: unknown
}

/** The codes with which next-auth 4 logs that it cannot read a session, also because of the application's own callbacks. */
const readErrors = new Set([
  "adapter_error_getSessionAndUser",
  "adapter_error_updateSession",
  "JWT_SESSION_ERROR",
  "SESSION_ERROR",
])

/** The codes with which it logs the error by which a sign-in ends. */
const signInErrors = new Set([
  "OAUTH_CALLBACK_ERROR",
  "OAUTH_CALLBACK_HANDLER_ERROR",
  "CALLBACK_EMAIL_ERROR",
  "SIGNIN_EMAIL_ERROR",
])

/** Whether the error is one of a sign-in. Of the calls of the adapter, only the deletion of a session is part of a sign-out. */
function isOfSignIn(code: string): boolean {
  return signInErrors.has(code) || (code.startsWith("adapter_error_") && code !== "adapter_error_deleteSession")
}

/**
 * Returns a configuration of next-auth 4 that reports outages as errors, as `throwOutages` does for Auth.js: next-auth throws
 * SessionUnavailable where it would treat the user as signed out, or end a sign-in with the error Callback, and sets no cookie.
 *
 * A user who is disabled and signs in gets the error AccessDenied. By itself next-auth answers with the error Callback, and with
 * JWT sessions the user would be signed in.
 *
 * @example
 * ```ts
 * export const authOptions = nextAuth4Options({ adapter: AuthwireAdapter({ url }), providers })
 * ```
 */
export function nextAuth4Options<Config extends object>(config: Config): Config {
  const { callbacks, logger = {} }: Changed = config
  const { error: log = logAnyError, warn, debug } = logger
  return {
    ...config,
    callbacks: rejectingDisabled(callbacks),
    logger: {
      ...logger,
      // The methods of a class are not properties of its instance, and would not be copied.
      ...(warn !== undefined && { warn }),
      ...(debug !== undefined && { debug }),
      // next-auth calls the logger before it continues without a session. An error that is thrown here becomes the error of
      // the whole request.
      error(code: string, metadata: unknown) {
        const error = errorIn(metadata)
        if (error instanceof SessionUnavailable) throw error
        const outage = outageIn(error)
        if (outage !== undefined && (readErrors.has(code) || (isOfSignIn(code) && passes(outage))))
          throw new SessionUnavailable(outage)
        log.call(this, code, metadata)
      },
    },
  }
}

function errorIn(metadata: unknown): unknown {
  return typeof metadata === "object" && metadata !== null && "error" in metadata ? metadata.error : metadata
}

function logAnyError(code: string, metadata: unknown): void {
  const error = errorIn(metadata)
  // Everybody can send an entry of the log to next-auth, which is no Error.
  if (error instanceof Error) logError4(code, error)
}
