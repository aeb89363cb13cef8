import type { BulkName, BulkRows } from "../store/sql/index.js"

/** A row that was read, and what is wrong with it. */
export interface Item<Row> {
  /** As Authwire has it; undefined if it cannot have it. */
  row: Row | undefined
  /** Which row it is, for people: ids of users, never an address or a token. */
  label: string
  faults: Fault[]
}

/** One thing that is wrong with one row. */
export interface Fault {
  kind: "invalid" | "truncated"
  /** The property, and the rule that it breaks. */
  detail: string
}

/** Where rows come from. */
export interface Origin {
  /** What is to be known of the database as a whole. */
  readonly notes: readonly string[]
  count(name: BulkName): Promise<number>
  /** All rows of a table, a page at a time, in an order that is the same every time. */
  pages<N extends BulkName>(name: N): AsyncIterable<Item<BulkRows[N]>[]>
  close(): Promise<void>
}

/** The key of a row as text: two rows with the same are the same thing to Authwire. */
export const keyText: { [N in BulkName]: (row: BulkRows[N]) => string } = {
  users: ({ id }) => id,
  accounts: ({ provider, providerAccountId }) => JSON.stringify([provider, providerAccountId]),
  sessions: ({ tokenHash }) => tokenHash.toString("hex"),
  verificationTokens: ({ identifier, tokenHash }) => JSON.stringify([identifier, tokenHash.toString("hex")]),
  authenticators: ({ credentialID }) => credentialID,
}

/** Which row it is, for people. */
export const labelOf: { [N in BulkName]: (row: BulkRows[N]) => string } = {
  users: ({ id }) => `user ${id}`,
  accounts: ({ provider, userId }) => `account of user ${userId} with ${provider}`,
  sessions: ({ tokenHash, userId }) => `session of user ${userId}, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  verificationTokens: ({ tokenHash }) => `verification token, SHA-256 ${tokenHash.toString("hex", 0, 6)}…`,
  authenticators: ({ userId }) => `authenticator of user ${userId}`,
}
