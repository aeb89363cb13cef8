import type { AuthConfig } from "@auth/core"
import { isDisabled } from "../adapter/disabled-users.js"
import { AuthwireError } from "../errors/error.js"
import { noteSignIn } from "../sign-in-context.js"

type Callbacks = NonNullable<AuthConfig["callbacks"]>

/**
 * Returns the callbacks of an Auth.js configuration with a callback `signIn` that rejects disabled users, before that of
 * the application is called, and notes the provider for the session that is created next. The request of an e-mail link is
 * not rejected, because its answer would tell everybody who knows the address.
 */
export function rejectingDisabled(callbacks: Callbacks | undefined): Callbacks {
  const { signIn } = callbacks ?? {}
  return {
    ...callbacks,
    signIn: (params) => {
      if (params.email?.verificationRequest !== true && isDisabled(params.user)) return false
      if (params.account) noteSignIn(params.account)
      return signIn?.(params) ?? true
    },
  }
}

const refusals = ["USER_DISABLED", "SESSION_LIMIT_REACHED"]

/**
 * Makes an error that Auth.js logs an AccessDenied if the service has refused a call of the adapter because the user is
 * disabled (the user was disabled during the sign-in, or an account would have been linked to it), or has as many sessions as
 * the session policy allows. Auth.js throws the same error afterwards, and chooses its page by the type. Returns whether it is
 * such an error.
 */
export function denyRefused(error: Error): boolean {
  if (!isAdapterError(error)) return false
  const cause = (error.cause as { err?: unknown } | undefined)?.err
  if (!(cause instanceof AuthwireError && refusals.includes(cause.reason ?? ""))) return false
  Object.assign(error, { type: "AccessDenied", name: "AccessDenied" })
  return true
}

/** Whether Auth.js has made an error of a failed call of the adapter. */
export function isAdapterError(error: Error): boolean {
  // The error of a class that is imported here would be one of another copy of @auth/core than that of the application.
  return "type" in error && error.type === "AdapterError"
}
