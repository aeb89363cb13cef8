/** Who makes a call: what is known of its API key. */
export interface Identity {
  /** The public part of the key, for logs; undefined for who needs none (`--dev`). */
  readonly keyId: string | undefined
  /** Whose data the call is about. */
  readonly tenant: string
  /** Whether it may call methods that ask for this scope. */
  hasScope(scope: string): boolean
}
