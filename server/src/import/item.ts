import { hash } from "node:crypto"
import type { BulkName, BulkRows } from "../store/sql/index.js"
import type { SessionPolicy } from "../store/types.js"

/** A row that was read, with its faults. */
export interface Item<Row> {
  /** The row as Authwire stores it; undefined if it cannot be stored. */
  row: Row | undefined
  /** The digest of the row's key, even if the row cannot be stored. */
  readonly key: bigint
  /** Identifies the row for people. It contains ids of users, but never an address or a token. */
  readonly label: string
  faults: Fault[]
  /** The id of the user of whom the row has become a property. It is no row of its own then. */
  movedTo?: string | undefined
  conversions: readonly Conversion[]
}

/** A value of a row that has become a value of another kind. */
export interface Conversion {
  property: string
  /** The kinds before and after, such as `number → date`. */
  what: string
  /** The values before and after, where they may be shown. */
  from?: unknown
  to?: unknown
}

/** One fault of one row. */
export interface Fault {
  kind: "invalid" | "set-aside" | "truncated" | "omitted" | "unreachable-address"
  /** The property, and the rule that it violates. */
  detail: string
}

/** Rows that were read together. */
export interface Page<Row> {
  /** The number of rows. */
  readonly length: number
  /** The digest of all values of the rows. Without it, the rows are checked whenever they are read. */
  readonly digest?: string
  /** @param isSound - Whether a page with this digest was read before without faults. Its rows are then not checked. */
  items(isSound: boolean): Item<Row>[]
  /** Compares what was read with the database's own digests. Throws StartError. Absent: they cannot be computed. */
  readonly verify?: () => Promise<void>
}

/** A database from which rows are imported. */
export interface ImportSource {
  /** Messages about the database as a whole. */
  readonly notes: readonly string[]
  /** Why the database may not show every row. Default: nothing is known that would hide one. */
  readonly doubts?: readonly string[]
  count(name: BulkName): Promise<number>
  /** Reads the rows of a table, one page at a time. The order is always the same. */
  pages<N extends BulkName>(name: N): AsyncIterable<Page<BulkRows[N]>>
  /** Returns the session policy of the tenant. Undefined if such a database has none. */
  readonly sessionPolicy?: () => Promise<SessionPolicy>
  close(): Promise<void>
}

/** Returns the digest of a row's key. Rows with the same digest are the same row to Authwire. */
export const keyDigest: { [N in BulkName]: (row: BulkRows[N]) => bigint } = {
  users: ({ id }) => digestOf(id),
  accounts: ({ provider, providerAccountId }) => digestOf(JSON.stringify([provider, providerAccountId])),
  sessions: ({ tokenHash }) => tokenHash.readBigInt64LE(),
  verificationTokens: ({ identifier, tokenHash }) => digestOf(JSON.stringify([identifier, tokenHash.toString("hex")])),
  authenticators: ({ credentialID }) => digestOf(credentialID),
}

/** Returns a label that identifies a row for people. */
export const labelOf: { [N in BulkName]: (row: BulkRows[N]) => string } = {
  users: ({ id }) => `user ${id}`,
  accounts: ({ provider, userId }) => `account of user ${userId} with ${provider}`,
  sessions: ({ tokenHash, userId }) => `session of user ${userId}, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  verificationTokens: ({ tokenHash }) => `verification token, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  authenticators: ({ userId }) => `authenticator of user ${userId}`,
}

/** Returns 8 bytes of a key's SHA-256. Of ten million keys two have the same digest once in 370,000 times. */
export function digestOf(key: string): bigint {
  return hash("sha256", key, "buffer").readBigInt64LE()
}

/** Returns the digest of a text after folding of case, accents and trailing spaces, as collations fold. */
export function foldedDigest(text: string): bigint {
  // A fast path, because there are many ids and nearly all of them have only these characters.
  const folded = /^[\w-]*$/.test(text) ? text : text.normalize("NFKD").replaceAll(/\p{M}/gu, "").trimEnd()
  return digestOf(folded.toLowerCase())
}

/** Yields the same items. While the consumer works on one item, the next one is already being fetched. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next()
    // Prevents an unhandled rejection. The error still reaches the code that awaits the promise.
    next.catch(() => {})
    return next
  }
  try {
    for (let next = begin(); ; ) {
      const { done, value } = await next
      if (done) return
      next = begin()
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}
