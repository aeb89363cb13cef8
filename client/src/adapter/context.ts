import type { CreateSessionRequestSchema } from "@authwire/proto/slim"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { optional, text } from "./field.js"

/** What an application knows of the request that signs somebody in: Auth.js gives its adapter none of it. */
export interface SessionContext {
  /** Address of the client. What does not fit into 64 characters is cut off. */
  ip?: string | null | undefined
  /** The header `user-agent`. What does not fit into 512 characters is cut off. */
  userAgent?: string | null | undefined
  /** How the user was authenticated: `passkey`, `email`, … At most 64 characters. */
  authMethod?: string | null | undefined
  /** Identifier of the provider. At most 255 bytes. */
  provider?: string | null | undefined
  /** Who is signed in as the user: an identifier of a member of staff, say. At most 255 bytes. */
  impersonator?: string | null | undefined
}

const textOrNone = optional(text)

type Origin = Pick<
  MessageInitShape<typeof CreateSessionRequestSchema>,
  "ip" | "userAgent" | "authMethod" | "provider" | "impersonator"
>

/** What a client says of itself is cut, because nobody's sign-in may fail by it; what the application says is checked. */
export function contextToWire(context: SessionContext | null | undefined): Origin {
  const { ip, userAgent, authMethod, provider, impersonator } = context ?? {}
  return {
    ip: cut(ip, 64),
    userAgent: cut(userAgent, 512),
    authMethod: textOrNone("authMethod", authMethod),
    provider: textOrNone("provider", provider),
    impersonator: textOrNone("impersonator", impersonator),
  }
}

function cut(value: unknown, characters: number): string | undefined {
  if (typeof value !== "string") return undefined
  return value.replaceAll("\0", "").slice(0, characters).toWellFormed()
}
