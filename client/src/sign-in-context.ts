import type { AdapterAccount } from "@auth/core/adapters"
import type { SessionContext } from "./adapter/context.js"

/** What is known of the provider that a user signs in with. */
type SignIn = Pick<SessionContext, "provider" | "providerSessionId">

interface ContextStorage {
  getStore(): SessionContext | undefined
}

/** The place of the storage of `withRequestContext`, which all copies of this package in a process share. */
const place: unique symbol = Symbol.for("authwire.request-context") as never

const shared = globalThis as { [place]?: ContextStorage }

/** Returns the shared storage of the contexts, which `create` makes if there is none yet. */
export function sharedStorage<Storage extends ContextStorage>(create: () => Storage): Storage {
  shared[place] ??= create()
  return shared[place] as Storage
}

/** Returns the context of the current request; undefined outside of `withRequestContext`. Needs no module of Node. */
export function currentContext(): SessionContext | undefined {
  return shared[place]?.getStore()
}

/** Notes in the context of the current request, if there is one, with which provider its user signs in. */
export function noteSignIn({ provider, id_token: idToken }: Pick<AdapterAccount, "provider" | "id_token">): void {
  const context = currentContext()
  if (context === undefined) return
  context.provider ??= provider
  context.providerSessionId ??= sessionIdIn(idToken)
}

/** Returns with which provider the user of the current request signs in, as far as it is known. */
export function currentSignIn(): SignIn {
  const { provider, providerSessionId } = currentContext() ?? {}
  return { provider, providerSessionId }
}

/** The most bytes of a session's id that the service stores. */
const maxBytes = 255

/**
 * Returns the claim `sid` of an ID token that Auth.js has verified; undefined without one. One that cannot be stored must
 * not make the sign-in fail.
 */
function sessionIdIn(idToken: string | undefined): string | undefined {
  try {
    const [, payload = ""] = (idToken ?? "").split(".")
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
    const { sid } = JSON.parse(new TextDecoder().decode(bytes)) as { sid?: unknown }
    if (typeof sid !== "string" || sid === "" || sid.includes("\0") || !sid.isWellFormed()) return undefined
    return new TextEncoder().encode(sid).length > maxBytes ? undefined : sid
  } catch {
    return undefined
  }
}
