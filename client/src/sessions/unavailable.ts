import type { ErrorReason } from "@authwire/proto/slim"
import { ConnectError } from "@connectrpc/connect"
import { AuthwireError, callError, type StatusName } from "../errors/error.js"

/** The retry delay if the service gives none, in seconds. */
const defaultRetryAfterSeconds = 2

/** The types of the errors that Auth.js logs when it cannot read a session. */
const readErrors = new Set<unknown>(["SessionTokenError", "JWTSessionError"])

/** The types of the errors by which a sign-in ends if a call, or a callback of the application, fails in it. */
const signInErrors = new Set<unknown>(["AdapterError", "CallbackRouteError", "AccessDenied"])

/** The maximum number of nested errors to search, because the causes of errors may form a cycle. */
const maxCauses = 20

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
    super(`the session cannot be checked: ${cause.message}`)
    this.cause = cause
    const { retryAfterMs } = cause
    this.retryAfterSeconds = retryAfterMs === undefined ? defaultRetryAfterSeconds : Math.ceil(retryAfterMs / 1000) || 1
  }
}

/**
 * Converts an error that Auth.js logs when it cannot read a session into the error to throw instead. Returns undefined
 * for other errors, and if the failed call is no outage (see isOutage): then Auth.js continues as usual, and no user is
 * signed in.
 */
export function toSessionUnavailable(error: unknown): SessionUnavailable | undefined {
  // Compares the type, because minifying bundlers rename classes, and with them the errors of Auth.js.
  if (!(error instanceof Error && "type" in error && readErrors.has(error.type))) return undefined
  const outage = outageIn(error)
  return outage && new SessionUnavailable(outage)
}

/**
 * The same for an error by which a sign-in ends, if a call failed for a time: the same sign-in can succeed in a moment. Returns
 * undefined for other failures, such as a wrong API key, which Auth.js rightly reports as those of the configuration.
 */
export function toInterruptedSignIn(error: unknown): SessionUnavailable | undefined {
  if (!(error instanceof Error && "type" in error && signInErrors.has(error.type))) return undefined
  const outage = outageIn(error)
  return outage && passes(outage) ? new SessionUnavailable(outage) : undefined
}

const passingCodes: ReadonlySet<StatusName> = new Set([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "ABORTED",
  "CANCELLED",
] as const)

/** Whether a failure ends by itself. */
export function passes({ code, retryAfterMs }: AuthwireError): boolean {
  return retryAfterMs !== undefined || passingCodes.has(code)
}

/** Returns the failed call that an error was caused by, if it is an outage (see isOutage). */
export function outageIn(error: unknown): AuthwireError | undefined {
  let cause = error
  for (let count = 0; count < maxCauses && cause instanceof Error; count++, cause = innerCause(cause)) {
    // A callback of the application may call the adapter, or a typed client, which throws a ConnectError.
    const failure = cause instanceof ConnectError ? callError("callback", "the service", cause) : cause
    if (failure instanceof AuthwireError) return isOutage(failure) ? failure : undefined
  }
  return undefined
}

/**
 * Returns whether a call failed in a way that must not sign a user out. Every failed call is an outage, except if the
 * service itself, which gives a reason, has answered about its data or rejected the token. The answer of a proxy, a
 * timeout, a cancelled call and a closed client are outages. So is a misconfiguration, such as a missing option or secret
 * or a rejected API key, because it affects all users. A ConnectError of another service of the application is also an
 * outage, because it looks like that of a proxy.
 */
export function isOutage(error: unknown): error is AuthwireError {
  return error instanceof AuthwireError && !isDefiniteAnswer(error)
}

/** Returns the cause of an error. The errors of Auth.js hold it in `cause.err`. */
function innerCause({ cause }: Error): unknown {
  return cause && typeof cause === "object" && "err" in cause ? cause.err : cause
}

/** The reasons of FAILED_PRECONDITION that concern stored data. The others concern the configuration or the request. */
const preconditionsOfData: ReadonlySet<string> = new Set<keyof typeof ErrorReason>([
  "COUNTER_REGRESSION",
  "USER_DISABLED",
  "SESSION_LIMIT_REACHED",
  "REFRESH_TOKEN_MISSING",
  "REFRESH_REFUSED",
])

function isDefiniteAnswer({ code, reason, fieldViolations }: AuthwireError): boolean {
  if (reason === undefined) return false
  switch (code) {
    case "NOT_FOUND":
    case "ALREADY_EXISTS":
      return true
    case "FAILED_PRECONDITION":
      return preconditionsOfData.has(reason)
    case "UNAUTHENTICATED":
      return !reason.startsWith("API_KEY_")
    case "INVALID_ARGUMENT":
      // The value of the cookie does not have the form of a token.
      return fieldViolations.some(({ field }) => /^(token|session_?token)$/i.test(field))
    default:
      return false
  }
}
