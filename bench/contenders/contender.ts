import type { Adapter } from "@auth/core/adapters"
import type { AuthwireClient } from "@authwire/client"

/** What is measured. It lives in the process that makes the load. */
export interface Contender {
  /** All methods that the operations call; a floor has only `getSessionAndUser`. */
  readonly adapter: Adapter
  /** The client behind it, for calls that can be cancelled and those that the adapter has not. */
  readonly client?: AuthwireClient
  close(): Promise<void>
}

/** Where a contender finds what it needs. Undefined: this run does not have it. */
export interface Endpoints {
  /** The tables of this contender. */
  databaseUrl?: string
  /** Its server: the gRPC listener, the HTTP listener, or the one it has. */
  grpcUrl?: string
  httpUrl?: string
}

/** How many connections to MySQL each contender has, in whichever process: Authwire's own default. */
export const poolSize = 10

export function required(url: string | undefined): string {
  if (url === undefined) throw new Error("this contender was not told where its server or database is")
  return url
}
