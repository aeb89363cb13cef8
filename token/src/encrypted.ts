import type { Octets } from "./base64url.js"

/** What authenticated encryption makes, and what it vouches for beside (RFC 7516, section 2). */
export interface Encrypted {
  /** Additional Authenticated Data: not encrypted, but covered by the tag. */
  readonly aad: Octets
  /** Initialization Vector. */
  readonly iv: Octets
  readonly ciphertext: Octets
  /** Authentication Tag. */
  readonly tag: Octets
}
