import { Code, ConnectError } from "@connectrpc/connect"
import { AuthwireError, callError } from "../error.js"

/** How long to wait where the service does not say, in seconds. */
const defaultRetryAfterSeconds = 2

/** The types of the errors that Auth.js logs where it reads a session. */
const readErrors = new Set<unknown>(["SessionTokenError", "JWTSessionError"])

/**
 * It cannot be told who is signed in, because the service could not be asked. Nobody has been signed out. The cause is the
 * AuthwireError of the call.
 */
export class SessionUnavailable extends Error {
  override readonly name = "SessionUnavailable"
  override readonly cause: AuthwireError
  /** When to ask again, in seconds, for the header `Retry-After`. */
  readonly retryAfterSeconds: number

  /** By its name: a process may have several copies of this package, whose errors are the same. */
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
 * What Auth.js logs when it could not read a session, as the error that it should have thrown. Undefined if the session
 * token was read and rejected, because it has expired, say: then nobody is signed in.
 */
export function unavailableBy(error: unknown): SessionUnavailable | undefined {
  // By its type: a bundler that minifies changes the names of classes, and so those of Auth.js's errors.
  if (!(error instanceof Error && "type" in error && readErrors.has(error.type))) return undefined
  for (let cause: unknown = error; cause instanceof Error; cause = innerCause(cause)) {
    if (cause instanceof AuthwireError) return isOutage(cause) ? new SessionUnavailable(cause) : undefined
    // Of a typed client, in a callback of the application.
    if (cause instanceof ConnectError && tellsOfOutage(cause))
      return new SessionUnavailable(callError("callback", "the service", cause))
  }
  return undefined
}

/** Whether a call about a session failed although nobody has said that the session is not good. */
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

/** The errors of Auth.js hold their cause as `cause.err`. */
function innerCause({ cause }: Error): unknown {
  return cause && typeof cause === "object" && "err" in cause ? cause.err : cause
}

function rejectsToken({ code, reason, fieldViolations }: AuthwireError): boolean {
  if (code === "UNAUTHENTICATED") return reason !== undefined && !reason.startsWith("API_KEY_")
  // What stands in the cookie is not even a token.
  return code === "INVALID_ARGUMENT" && fieldViolations.some(({ field }) => /^(token|session_?token)$/i.test(field))
}
