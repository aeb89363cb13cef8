/** A cache of sessions in the memory of the application. */
export interface SessionCacheOptions {
  /**
   * How long a session may still be answered from memory after it has changed or ended, in milliseconds, if the service
   * cannot be heard; otherwise it is known at once. A whole number from 200 to 10,000. Default: 1,000.
   */
  maxStaleMs?: number | undefined
  /** How many sessions are kept at the most; the one not asked for for longest goes. From 1 to 1,000,000. Default: 10,000. */
  size?: number | undefined
}
