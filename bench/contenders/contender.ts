import type { Adapter } from "@auth/core/adapters"
import type { AuthwireClient } from "@authwire/client"

/** A client that is measured. It runs in the process that generates the load. */
export interface Contender {
  /** Has all methods that the operations call. A floor has only `getSessionAndUser`. */
  readonly adapter: Adapter
  /** The client behind the adapter, for calls that can be cancelled and for those that the adapter does not have. */
  readonly client?: AuthwireClient
  close(): Promise<void>
}

/** The endpoints that a contender may need. A field is undefined if this run does not have it. */
export interface Endpoints {
  /** The database with the tables of this contender. */
  databaseUrl?: string
  /** The gRPC listener and the HTTP listener of its server. A server may have only one of them. */
  grpcUrl?: string
  httpUrl?: string
}

/** The size of each contender's connection pool to MySQL, in whichever process it is: Authwire's default. */
export const poolSize = 10

export function required(url: string | undefined): string {
  if (url === undefined) throw new Error("this contender was not told where its server or database is")
  return url
}
