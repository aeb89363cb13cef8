import type { Owner } from "../util/owner.js"

/** The identity of a caller, which its API key determines. */
export interface Identity extends Owner {
  /** Returns whether the caller may call methods that require this scope. */
  hasScope(scope: string): boolean
  /** The display name of the key. Undefined without a key. */
  readonly keyName?: string | undefined
  /** When the key ends. Undefined: never. */
  readonly expires?: Date | undefined
}
