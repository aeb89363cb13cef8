import { randomBytes } from "node:crypto"
import { StoreError } from "../../error.js"
import type { Caller, EventStore } from "../../store.js"
import type { EventPosition } from "../../types.js"
import { createCipher, derivedKey } from "../cipher.js"

const saltBytes = 12

/**
 * What stands for a position in the events of a tenant, for callers: nobody else can make one, or learn from one how much
 * others write. Each stream seals by a key of its own, which is derived from those of the store and from a salt that stands in
 * front: a key may seal 2^32 values, and a replica has more cursors than that to tell.
 *
 * @param encryptionKeys those of the store.
 */
export function eventCursors(encryptionKeys: readonly Buffer[]): Pick<EventStore, "sealer" | "positionOf"> {
  const cipherOf = (salt: string) =>
    createCipher(encryptionKeys.map((key) => derivedKey(key, `Authwire event cursors ${salt}`)))
  const place = ({ tenant }: Caller) => ["events", tenant]
  return {
    sealer(caller) {
      const salt = randomBytes(saltBytes).toString("base64url")
      const cipher = cipherOf(salt)
      return ({ history, sequence }) => `${salt}.${cipher.seal(`${history} ${sequence}`, place(caller))}`
    },

    positionOf(caller, cursor) {
      const [, salt = "", sealed = ""] = /^([\w-]{16})\.(sealed\..*)$/s.exec(cursor) ?? []
      const text = opened(() => cipherOf(salt).open(sealed, place(caller)))
      const [, history, sequence] = /^(\w+) (\d+)$/.exec(text ?? "") ?? []
      if (history === undefined) {
        const rule = "must be a cursor that EventService.Watch has told in this tenant"
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
