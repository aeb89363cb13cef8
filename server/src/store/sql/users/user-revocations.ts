import type { Caller } from "../../store.js"
import type { Statements } from "../query/statement.js"

/** The deletion of all sessions of a user as a part of other writes. Each returns the number of deleted sessions. */
export interface UserRevocations {
  /**
   * Deletes sessions in batches that are committed one by one, until the user has few enough for one statement.
   *
   * @param first runs before the first batch, if there is one.
   */
  revokeMost(caller: Caller, userId: string, first?: () => Promise<unknown>): Promise<number>
  /** Deletes the others in a transaction that has locked the user or its account. */
  revokeRest(sql: Statements, caller: Caller, userId: string): Promise<number>
}
