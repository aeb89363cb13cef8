import type { Caller } from "../../store.js"

/**
 * Deletes sessions of a user in batches that are committed one by one, until it has few enough for one statement.
 * Returns their number.
 *
 * @param first runs before the first batch, if there is one.
 */
export type RevokeMost = (caller: Caller, userId: string, first?: () => Promise<unknown>) => Promise<number>
