import type { BulkName, BulkRows } from "../store/sql/index.js"
import { digestOf } from "./key-set.js"

/** A row that was read, and what is wrong with it. */
export interface Item<Row> {
  /** As Authwire has it; undefined if it cannot have it. */
  row: Row | undefined
  /** Which row it is, for people: ids of users, never an address or a token. */
  readonly label: string
  faults: Fault[]
}

/** One thing that is wrong with one row. */
export interface Fault {
  kind: "invalid" | "truncated"
  /** The property, and the rule that it breaks. */
  detail: string
}

/** A part of a table: the rows behind one key, up to another one and with it, in the order of the database. */
export interface Range {
  /** Undefined: from the first row. */
  after: readonly unknown[] | undefined
  /** Undefined: to the last row. */
  upTo: readonly unknown[] | undefined
}

/** Rows that were read together. */
export interface Page<Row> {
  /** How many rows there are. */
  readonly length: number
  /** Where they stand, and what they are: another digest when any value is another. Undefined where nobody can tell. */
  readonly source: { range: Range; digest: string } | undefined
  /** @param isSound - Whether a page with this digest was read before and had no fault: then nothing is checked. */
  items(isSound: boolean): Item<Row>[]
}

/** Where rows come from. */
export interface Origin {
  /** What is to be known of the database as a whole. */
  readonly notes: readonly string[]
  /** Names how rows are read: what was noted of pages holds for no other way. */
  readonly layout: string
  count(name: BulkName): Promise<number>
  /**
   * The rows of a table, or of parts of it, a page at a time, in an order that is the same every time. A part has one
   * page unless it has grown.
   */
  pages<N extends BulkName>(name: N, ranges?: readonly Range[]): AsyncIterable<Page<BulkRows[N]>>
  close(): Promise<void>
}

/** The digest of a row's key: two rows with the same are the same thing to Authwire. */
export const keyDigest: { [N in BulkName]: (row: BulkRows[N]) => bigint } = {
  users: ({ id }) => digestOf(id),
  accounts: ({ provider, providerAccountId }) => digestOf(JSON.stringify([provider, providerAccountId])),
  sessions: ({ tokenHash }) => tokenHash.readBigUInt64LE(),
  verificationTokens: ({ identifier, tokenHash }) => digestOf(JSON.stringify([identifier, tokenHash.toString("hex")])),
  authenticators: ({ credentialID }) => digestOf(credentialID),
}

/** Which row it is, for people. */
export const labelOf: { [N in BulkName]: (row: BulkRows[N]) => string } = {
  users: ({ id }) => `user ${id}`,
  accounts: ({ provider, userId }) => `account of user ${userId} with ${provider}`,
  sessions: ({ tokenHash, userId }) => `session of user ${userId}, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  verificationTokens: ({ tokenHash }) => `verification token, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  authenticators: ({ userId }) => `authenticator of user ${userId}`,
}
