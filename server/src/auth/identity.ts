import type { Owner } from "../util/owner.js"

/** The identity of a caller, which its API key determines. */
export interface Identity extends Owner {
  /** Returns whether the caller may call methods that require this scope. */
  hasScope(scope: string): boolean
  /** When the key ends. Undefined: never. */
  readonly expires?: Date | undefined
}
