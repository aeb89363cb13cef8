import type { Cipher } from "../cipher.js"
import type { UserRow } from "../schema/rows.js"

type PrivateRow = Pick<UserRow, "tenant" | "id" | "privateExtra">

/**
 * The private properties of users, such as the hash of a password: JSON that is sealed in the database. Only
 * `getPrivateExtra`, `rekey` and programs that move whole rows read the column.
 */
export interface PrivateExtra {
  /** Returns the sealed text; undefined if the user has no private properties. */
  seal(row: PrivateRow): string | undefined
  /** Returns the text as JSON. Throws ENCRYPTION_KEY_MISSING. */
  open(row: PrivateRow): string | undefined
  /** Returns whether there is nothing to seal, or it is sealed with the first key. */
  isCurrent(row: PrivateRow): boolean
}

export function privateExtra(cipher: Cipher): PrivateExtra {
  const contextOf = ({ tenant, id }: PrivateRow) => [tenant, id, "private_extra"]
  return {
    seal: (row) => row.privateExtra && cipher.seal(row.privateExtra, contextOf(row)),
    open: (row) => row.privateExtra && cipher.open(row.privateExtra, contextOf(row)),
    isCurrent: ({ privateExtra }) => privateExtra === undefined || cipher.isCurrent(privateExtra),
  }
}
