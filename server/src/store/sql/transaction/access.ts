import type { Waiter } from "../../store.js"
import type { PooledConnection } from "../engine/pooled-connection.js"

/** What one attempt of a unit of work has. */
export interface Access<Shared> {
  readonly waiter: Waiter
  /** Returns the connection of the unit, and opens it first if it is not open. The unit keeps it for its next attempt if this one succeeds. */
  connection(): Promise<PooledConnection>
  /** Joins a transaction of several units, or begins one. */
  join(mayShare: boolean): Promise<Shared>
  /** Whether the rows include some that the unit has not locked. */
  needs(rows: readonly string[]): boolean
  /**
   * Locks further rows. All rows are locked in one order and outside of any transaction, so that no two units wait for each other.
   * The rows of the unit are therefore unlocked first. Returns whether it had to wait.
   */
  lock(rows: readonly string[]): Promise<boolean>
  /** Keeps the rows locked until this promise is settled. */
  keepUntil(settled: Promise<unknown>): void
}

/**
 * Runs something, and runs it again while it conflicts with other transactions; see Backoff. Between two tries the unit has neither a
 * permit nor a connection, so that other work can run.
 *
 * @param isRepeatable Whether it may run again although it may be done already; see the failure `unanswered`. Default: no.
 */
export type Attempt<Shared> = <T>(once: (access: Access<Shared>) => Promise<T>, isRepeatable?: boolean) => Promise<T>

/** How a step of work in a transaction that it may share runs. */
export interface StepOptions {
  /** Whether the work may take long. Then it does not share its transaction. */
  isLong?: boolean
  /**
   * Whether the work relies on something that it read before its rows were locked. If it had to wait for the lock, that is
   * probably out of date and the work will fail. Then it does not share its transaction, which would be rolled back with it.
   */
  readsBefore?: boolean
}
