import type { Dispatch } from "../dispatch/dispatch.js"
import type { Address } from "./listen.js"

/** A way into the dispatch. */
export interface Door {
  readonly address: Address
  /** Takes no more connections, and asks the clients of those that are open to go elsewhere. */
  stopAccepting(): void
  /** Resolves once every connection is closed; those still open after `graceMs` are cut. */
  closed(graceMs: number): Promise<void>
}

export interface DoorOptions {
  dispatch: Dispatch
  address: Address
  /** The largest request, in bytes. A larger one is RESOURCE_EXHAUSTED. */
  maxMessageBytes: number
}
