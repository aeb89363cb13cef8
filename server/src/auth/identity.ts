/** The identity of a caller, which its API key determines. */
export interface Identity {
  /** The public part of the key, for logs; undefined for a caller that needs no key (`--dev`). */
  readonly keyId: string | undefined
  /** The tenant whose data the caller uses. */
  readonly tenant: string
  /** Returns whether the caller may call methods that require this scope. */
  hasScope(scope: string): boolean
}
