import type { Caller } from "../../store.js"

/** Returns the caller without its transaction, for work that is committed by itself. A spread would lose the getters of a call. */
export function alone({ tenant, signal, spans }: Caller): Caller {
  return { tenant, signal, spans }
}
