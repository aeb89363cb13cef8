import type { CreateSessionRequestSchema } from "@authwire/proto/slim"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { optional, text } from "./field.js"

/** The origin of a new session: properties of the sign-in request, which Auth.js does not pass to its adapter. */
export interface SessionContext {
  /** The address of the client. Truncated to 64 characters. */
  ip?: string | null | undefined
  /** The header `user-agent`. Truncated to 512 characters. */
  userAgent?: string | null | undefined
  /** The authentication method, such as `passkey` or `email`. At most 64 characters. */
  authMethod?: string | null | undefined
  /** The identifier of the provider. At most 255 bytes. */
  provider?: string | null | undefined
  /** The identifier of the person who is signed in as the user, such as a member of staff. At most 255 bytes. */
  impersonator?: string | null | undefined
  /** The session at the provider: the claim `sid` of its ID token. At most 255 bytes. */
  providerSessionId?: string | null | undefined
}

const textOrNone = optional(text)

type Origin = Pick<
  MessageInitShape<typeof CreateSessionRequestSchema>,
  "ip" | "userAgent" | "authMethod" | "provider" | "impersonator" | "providerSessionId"
>

/**
 * Converts a context to the fields of the request. Values that the client controls are truncated, because they must not
 * make a sign-in fail. Values of the application are checked.
 */
export function contextToWire(context: SessionContext | null | undefined): Origin {
  const { ip, userAgent, authMethod, provider, impersonator, providerSessionId } = context ?? {}
  return {
    ip: cut(ip, 64),
    userAgent: cut(userAgent, 512),
    authMethod: textOrNone("authMethod", authMethod),
    provider: textOrNone("provider", provider),
    impersonator: textOrNone("impersonator", impersonator),
    providerSessionId: textOrNone("providerSessionId", providerSessionId),
  }
}

function cut(value: unknown, characters: number): string | undefined {
  if (typeof value !== "string") return undefined
  return value.replaceAll("\0", "").slice(0, characters).toWellFormed()
}
