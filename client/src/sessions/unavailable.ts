import { Code, ConnectError } from "@connectrpc/connect"
import { AuthwireError, callError } from "../error.js"

/** The retry delay if the service gives none, in seconds. */
const defaultRetryAfterSeconds = 2

/** The types of the errors that Auth.js logs when it cannot read a session. */
const readErrors = new Set<unknown>(["SessionTokenError", "JWTSessionError"])

/**
 * The error of a session that cannot be read because the call to the service failed. It does not mean that a user was
 * signed out. The cause is the AuthwireError of the call.
 */
export class SessionUnavailable extends Error {
  override readonly name = "SessionUnavailable"
  override readonly cause: AuthwireError
  /** The delay before a retry, in seconds, for the header `Retry-After`. */
  readonly retryAfterSeconds: number

  /** Recognizes the class by its name, because a process may load several copies of this package. */
  static override [Symbol.hasInstance](value: unknown): value is SessionUnavailable {
    return value instanceof Error && value.name === "SessionUnavailable" && "retryAfterSeconds" in value
  }

  constructor(cause: AuthwireError) {
    super(`it cannot be told who is signed in: ${cause.message}`)
    this.cause = cause
    const { retryAfterMs } = cause
    this.retryAfterSeconds = retryAfterMs === undefined ? defaultRetryAfterSeconds : Math.ceil(retryAfterMs / 1000) || 1
  }
}

/**
 * Converts an error that Auth.js logs when it cannot read a session into the error to throw instead. Returns undefined
 * for other errors, and if the session token was read and rejected, for example because it has expired: then no user is
 * signed in.
 */
export function toSessionUnavailable(error: unknown): SessionUnavailable | undefined {
  // Compares the type, because minifying bundlers rename classes, and with them the errors of Auth.js.
  if (!(error instanceof Error && "type" in error && readErrors.has(error.type))) return undefined
  for (let cause: unknown = error; cause instanceof Error; cause = innerCause(cause)) {
    if (cause instanceof AuthwireError) return isOutage(cause) ? new SessionUnavailable(cause) : undefined
    // An error of a typed client that a callback of the application has used.
    if (cause instanceof ConnectError && tellsOfOutage(cause))
      return new SessionUnavailable(callError("callback", "the service", cause))
  }
  return undefined
}

/** Returns whether a call about a session failed without a rejection of the session itself. */
export function isOutage(error: unknown): error is AuthwireError {
  return error instanceof AuthwireError && !rejectsToken(error)
}

const outageCodes: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.Aborted,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Internal,
  Code.Unknown,
])

function tellsOfOutage(error: ConnectError): boolean {
  if (error.code !== Code.Unauthenticated) return outageCodes.has(error.code)
  return callError("callback", "the service", error).reason?.startsWith("API_KEY_") === true
}

/** Returns the cause of an error. The errors of Auth.js hold it in `cause.err`. */
function innerCause({ cause }: Error): unknown {
  return cause && typeof cause === "object" && "err" in cause ? cause.err : cause
}

function rejectsToken({ code, reason, fieldViolations }: AuthwireError): boolean {
  if (code === "UNAUTHENTICATED") return reason !== undefined && !reason.startsWith("API_KEY_")
  // The value of the cookie does not have the form of a token.
  return code === "INVALID_ARGUMENT" && fieldViolations.some(({ field }) => /^(token|session_?token)$/i.test(field))
}
