/** What a look into the database has found of a tenant. */
export interface Look {
  /** When it began, by the clock of the feed: everything that was committed before has been told. */
  readonly began: number
  /** How far that is, by the sequence that all processes and tenants share. */
  readonly sequence: bigint
  /** What was changed or deleted; see FollowResponse.keys. */
  readonly keys: readonly string[]
  /** Whether it has found anything of the tenant, also if no cache has to know of it. */
  readonly isNews: boolean
  /** Whether changes may be missing, or the sequence is that of another database: nothing known before is of use. */
  readonly isBroken: boolean
}

/** Tells of the committed changes of a tenant, in their order, each once. */
export interface TenantFeed {
  /** The clock of the looks, in milliseconds. */
  now(): number
  /** Hears of every look from now on. Returns what ends it. */
  follow(listener: (look: Look) => void): () => void
}

/** The changes of all tenants: it looks into the database once for all who follow. */
export interface ChangeFeed {
  /** Whether there are changes to hear of; else there is nothing that may be kept. */
  readonly isOn: boolean
  of(tenant: string): TenantFeed
  /**
   * A sequence that a look has which finds everything of the tenant that was committed before this call, and none that is
   * higher than the last look that has found something of the tenant. Rejects where that fails.
   */
  reach(tenant: string): Promise<bigint>
}
