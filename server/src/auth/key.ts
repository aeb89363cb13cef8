import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import type { ApiKey } from "../store/types.js"
import type { Identity } from "./identity.js"

/** The only scope that `all` does not include: an application must not read such properties unless it is meant to. */
const privateScope = "users:private"

/** The hash that is compared if a key has no secret or does not exist. It is random, so no known secret has it. */
const unknownHash = randomBytes(32)

const digest = Buffer.alloc(32)

/** A key that calls are checked against, and the identity of its holder. Immutable. */
export class Key implements Identity {
  readonly keyId: string
  readonly tenant: string
  readonly certificateName: string | undefined
  /** In milliseconds since 1970. A key of the configuration has no such time, and counts as newer than all others. */
  readonly created: number
  readonly #secretHash: Buffer
  readonly #expires: number
  readonly #all: boolean
  readonly #scopes: ReadonlySet<string>

  constructor(
    key: Pick<ApiKey, "id" | "tenant" | "scopes" | "secretHash" | "certificateName" | "expires"> & { created?: Date },
  ) {
    this.keyId = key.id
    this.tenant = key.tenant
    this.certificateName = key.certificateName
    this.created = key.created?.getTime() ?? Number.MAX_VALUE
    this.#secretHash = key.secretHash ?? unknownHash
    this.#expires = key.expires?.getTime() ?? Number.POSITIVE_INFINITY
    this.#all = key.scopes.includes("all")
    this.#scopes = new Set(key.scopes)
  }

  hasScope(scope: string): boolean {
    return (this.#all && scope !== privateScope) || this.#scopes.has(scope)
  }

  isExpired(now: number): boolean {
    return now >= this.#expires
  }

  /** Returns whether this key also admits each caller of the other one: id, secret and certificate name are equal. */
  admitsSameCaller(other: Key): boolean {
    return (
      this === other ||
      (this.keyId === other.keyId &&
        this.certificateName === other.certificateName &&
        this.#secretHash.equals(other.#secretHash))
    )
  }

  /** Returns whether a secret is that of a key. Takes the same time if there is no key. */
  static opens(key: Key | undefined, secret: string): boolean {
    // The same hash as hashSecret. A digest as a string costs a quarter of one as a new buffer. Each call needs one.
    digest.write(hash("sha256", secret, "binary"), "binary")
    return timingSafeEqual(digest, key === undefined ? unknownHash : key.#secretHash)
  }
}
