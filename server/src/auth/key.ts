import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import type { Identity } from "../rpc/identity.js"
import type { ApiKey } from "../store/types.js"

/** What a key without a secret, or no key at all, is compared to: nobody knows what it is the hash of. */
const nobodys = randomBytes(32)

const digest = Buffer.alloc(32)

/** A key as calls are checked against it, and the identity of whoever has it. Never changes. */
export class Key implements Identity {
  readonly keyId: string
  readonly tenant: string
  readonly certificateName: string | undefined
  readonly #secretHash: Buffer
  readonly #expires: number
  readonly #all: boolean
  readonly #scopes: ReadonlySet<string>

  constructor(key: Pick<ApiKey, "id" | "tenant" | "scopes" | "secretHash" | "certificateName" | "expires">) {
    this.keyId = key.id
    this.tenant = key.tenant
    this.certificateName = key.certificateName
    this.#secretHash = key.secretHash ?? nobodys
    this.#expires = key.expires?.getTime() ?? Number.POSITIVE_INFINITY
    this.#all = key.scopes.includes("all")
    this.#scopes = new Set(key.scopes)
  }

  hasScope(scope: string): boolean {
    return this.#all || this.#scopes.has(scope)
  }

  isExpired(now: number): boolean {
    return now >= this.#expires
  }

  /** Whether whoever was let in by the other would be by this one: the secret and the certificate are the same. */
  letsInAs(other: Key): boolean {
    return (
      this === other ||
      (this.keyId === other.keyId &&
        this.certificateName === other.certificateName &&
        this.#secretHash.equals(other.#secretHash))
    )
  }

  /** Whether a secret is that of a key. Takes as long when there is no key. */
  static opens(key: Key | undefined, secret: string): boolean {
    // As hashSecret does it. A digest as a text costs a quarter of one as a new buffer, and each call pays for one.
    digest.write(hash("sha256", secret, "binary"), "binary")
    return timingSafeEqual(digest, key === undefined ? nobodys : key.#secretHash)
  }
}
