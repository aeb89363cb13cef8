import { randomBytes } from "node:crypto"
import { StoreError } from "../../../errors/store-error.js"
import type { Caller, EventStore } from "../../store.js"
import type { EventPosition } from "../../types.js"
import { createCipher, derivedKey } from "../cipher.js"

const saltBytes = 12

/**
 * Creates the cursors that represent positions in the events of a tenant. Only the store can create one, and a cursor
 * does not reveal how much other tenants write. Each stream seals with its own key, derived from the store's keys and a
 * salt that is the prefix of the cursor: a key may seal 2^32 values, and a replica creates more cursors than that.
 *
 * @param encryptionKeys the keys of the store.
 */
export function eventCursors(encryptionKeys: readonly Buffer[]): Pick<EventStore, "sealer" | "positionOf"> {
  const cipherOf = (salt: string) =>
    createCipher(encryptionKeys.map((key) => derivedKey(key, `Authwire event cursors ${salt}`)))
  const context = ({ tenant }: Caller) => ["events", tenant]
  return {
    sealer(caller) {
      const salt = randomBytes(saltBytes).toString("base64url")
      const cipher = cipherOf(salt)
      return ({ history, sequence }) => `${salt}.${cipher.seal(`${history} ${sequence}`, context(caller))}`
    },

    positionOf(caller, cursor) {
      const [, salt = "", sealed = ""] = /^([\w-]{16})\.(sealed\..*)$/s.exec(cursor) ?? []
      const text = opened(() => cipherOf(salt).open(sealed, context(caller)))
      const [, history, sequence] = /^(\w+) (\d+)$/.exec(text ?? "") ?? []
      if (history === undefined) {
        const rule = "must be a cursor that EventService.Watch has sent in this tenant"
        throw new StoreError("INVALID_FIELD", rule, { field: "start_cursor" })
      }
      return { history, sequence: Number(sequence) } satisfies EventPosition
    },
  }
}

function opened(open: () => string): string | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
