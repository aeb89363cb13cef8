import { ConnectError } from "@connectrpc/connect"
import { statusName } from "../errors/error.js"

/** The longest message in a line, in characters. */
const maxMessageLength = 300

/** Logs that a client uses a fallback: once, until what it stands in for has worked again. */
export interface FallbackLog {
  /** Must be called at each use, with the error that made it necessary. */
  used(error: unknown): void
  /** Must be called when what the fallback stands in for has worked. */
  over(): void
}

/**
 * Creates the log of one kind of fallback of one connection. The lines go to the console, as those of Auth.js do.
 *
 * @param address - The address of the service.
 * @param fallback - What does not work, and what the client does instead.
 */
export function fallbackLog(address: string, fallback: string): FallbackLog {
  let isLogged = false
  return {
    used(error) {
      if (isLogged) return
      isLogged = true
      const { code, rawMessage } = ConnectError.from(error)
      // The message may be that of a proxy.
      const message = rawMessage.slice(0, maxMessageLength).replace(/\p{Cc}+/gu, " ")
      console.warn(`[authwire][warn] ${address}: ${fallback} (${statusName(code)}: ${message})`)
    },
    over() {
      isLogged = false
    },
  }
}
