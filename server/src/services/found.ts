import { Failure, type Reason } from "../rpc/errors.js"

/** Turns the store's null into the failure that the schema names for it. */
export function found<T>(thing: T | null, reason: Extract<Reason, `${string}_NOT_FOUND`>): T {
  if (thing === null) throw new Failure(reason)
  return thing
}
