/** Tables of one contender, and SQL that fills them. */
export interface Schema {
  readonly name: string
  /** Makes the tables in an empty database. */
  create(databaseUrl: string): Promise<void>
  /** One INSERT … SELECT for each table; `n` runs over `numbers(count)`. */
  readonly fill: (rows: { users: string; sessions: string }) => string[]
  /** Removes what measurements made and the data does not have. */
  readonly cleanUp: readonly string[]
  /** INSERT … SELECT of the verification tokens of a batch, over a FROM clause that gives `n`. */
  readonly verificationTokens: (batch: string, from: string) => string
}
