import { AuthwireError } from "@authwire/client"
import { ConnectError } from "@connectrpc/connect"

/** Returns the error that a transport threw, also if a client of Authwire threw it as the cause of its own. Rejects others. */
export function wireError(error: unknown): ConnectError {
  const cause = error instanceof AuthwireError ? error.cause : error
  if (!(cause instanceof ConnectError)) throw error
  return cause
}
