/** A change that clients must know of which keep sessions. */
export interface Change {
  readonly tenant: string
  /** See FollowResponse.keys. */
  readonly keys: readonly string[]
}

/** What a look into the database has found. */
export interface Look {
  /** When it began, by the clock of the feed: everything that was committed before has been told. */
  readonly began: number
  /** How far that is, by the sequence that all processes share. */
  readonly sequence: bigint
  readonly changes: readonly Change[]
  /** Whether changes may be missing, or the sequence is that of another database: nothing known before is of use. */
  readonly isBroken: boolean
}

/** Tells of committed changes, in their order, each once. */
export interface ChangeFeed {
  /** Whether there are changes to hear of; else there is nothing that may be kept. */
  readonly isOn: boolean
  /** The clock of the looks, in milliseconds. */
  now(): number
  /** Hears of every look from now on. Returns what ends it. */
  follow(listener: (look: Look) => void): () => void
  /** The sequence of a look that begins after this call. Rejects where that fails. */
  reach(): Promise<bigint>
}
