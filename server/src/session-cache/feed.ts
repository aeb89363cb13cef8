/** The result of one read of the database for a tenant. */
export interface Look {
  /** When the read began, by the clock of the feed. All changes that were committed before have been delivered. */
  readonly began: number
  /** The position up to which changes have been delivered, in the sequence that all processes and tenants share. */
  readonly sequence: bigint
  /** The keys of what was changed or deleted; see FollowResponse.keys. */
  readonly keys: readonly string[]
  /** Whether the read found any event of the tenant, even one that no cache needs. */
  readonly isNews: boolean
  /** Whether changes may be missing, or the sequence is that of another database. Previous state is then invalid. */
  readonly isBroken: boolean
}

/** Delivers the committed changes of a tenant, in their order, each once. */
export interface TenantFeed {
  /** Returns the time by the clock of the looks, in milliseconds. */
  now(): number
  /** Calls the listener for every look from now on. Returns the function that ends this. */
  follow(listener: (look: Look) => void): () => void
}

/** The changes of all tenants. It reads the database once for all followers. */
export interface ChangeFeed {
  /** Whether changes are delivered; otherwise clients must not cache anything. */
  readonly isOn: boolean
  of(tenant: string): TenantFeed
  /**
   * Returns the sequence of a look that covers everything of the tenant that was committed before this call. It is not
   * higher than that of the last look that found an event of the tenant. Rejects if it cannot be read.
   */
  reach(tenant: string): Promise<bigint>
}
