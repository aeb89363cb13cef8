import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import type { ApiKey } from "../store/types.js"
import type { Identity } from "./identity.js"

/**
 * The scopes that `all` does not include. An application must not read private properties unless it is meant to, must not
 * change the session policy, which limits it, and has nothing to do with other tenants. Whoever has stolen its key must not be
 * able to create another, or have events sent elsewhere.
 */
const scopesBesideAll: ReadonlySet<string> = new Set([
  "users:private",
  "keys:write",
  "session-policy:write",
  "tenants:read",
  "tenants:write",
  "webhooks:read",
  "webhooks:write",
])

/** The hash that is compared if a key has no secret or does not exist. It is random, so no known secret has it. */
const unknownHash = randomBytes(32)

const digest = Buffer.alloc(32)

/** A key that calls are checked against, and the identity of its holder. Immutable. */
export class Key implements Identity {
  readonly keyId: string
  readonly keyName: string
  readonly tenant: string
  readonly certificateName: string | undefined
  /** In milliseconds since 1970. A key of the configuration has no such time, and counts as newer than all others. */
  readonly created: number
  readonly #secretHash: Buffer
  readonly #expires: number
  readonly #all: boolean
  readonly #scopes: ReadonlySet<string>

  /** @param scopes The set of the key's scopes. Many keys have the same one. */
  constructor(
    key: Pick<ApiKey, "id" | "name" | "tenant" | "scopes" | "secretHash" | "certificateName" | "expires"> & {
      created?: Date
    },
    scopes: ReadonlySet<string> = new Set(key.scopes),
  ) {
    this.keyId = key.id
    this.keyName = key.name
    this.tenant = key.tenant
    this.certificateName = key.certificateName
    this.created = key.created?.getTime() ?? Number.MAX_VALUE
    // A copy, because the driver's value may keep all that it was read with in memory.
    this.#secretHash = key.secretHash === undefined ? unknownHash : Buffer.from(key.secretHash)
    this.#expires = key.expires?.getTime() ?? Number.POSITIVE_INFINITY
    this.#all = scopes.has("all")
    this.#scopes = scopes
  }

  hasScope(scope: string): boolean {
    return (this.#all && !scopesBesideAll.has(scope)) || this.#scopes.has(scope)
  }

  get expires(): Date | undefined {
    return this.#expires === Number.POSITIVE_INFINITY ? undefined : new Date(this.#expires)
  }

  isExpired(now: number): boolean {
    return now >= this.#expires
  }

  /** Returns whether the other key is the same in everything. The sets of scopes must be shared. */
  equals(other: Key): boolean {
    return (
      this.admitsSameCaller(other) &&
      this.keyName === other.keyName &&
      this.tenant === other.tenant &&
      this.created === other.created &&
      this.#expires === other.#expires &&
      this.#scopes === other.#scopes
    )
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
