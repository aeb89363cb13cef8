import { StoreError } from "../../../errors/store-error.js"
import type { JsonValue } from "../../types.js"
import { type Cipher, createCipher, derivedKey } from "../cipher.js"

/** Page tokens: positions in a list, encrypted and authenticated, so that callers can neither forge them nor read what they contain. */
export interface PageTokens {
  /** @param list What the token is bound to: the name of the list, the tenant and the filters. */
  seal(list: readonly string[], position: JsonValue): string
  /** Throws INVALID_FIELD for a token that `seal` has not made for this list. */
  open<Position extends JsonValue>(list: readonly string[], token: string): Position
}

/** @param encryptionKeys The keys of the store. The tokens are encrypted with keys that are derived from them. */
export function pageTokens(encryptionKeys: readonly Buffer[]): PageTokens {
  const cipher = createCipher(encryptionKeys.map((key) => derivedKey(key, "Authwire page tokens")))
  return {
    seal: (list, position) => cipher.seal(JSON.stringify(position), list),
    open(list, token) {
      const text = opened(cipher, list, token)
      if (text === undefined) {
        const rule = "must be the next_page_token of the same list, with the same filters"
        throw new StoreError("INVALID_FIELD", rule, { field: "page_token" })
      }
      return JSON.parse(text)
    },
  }
}

function opened(cipher: Cipher, list: readonly string[], token: string): string | undefined {
  try {
    return cipher.open(token, list)
  } catch {
    return undefined
  }
}
