/** Options of the session cache in the memory of the application. */
export interface SessionCacheOptions {
  /**
   * The longest time that a session is still returned from memory after it has changed or ended, if the connection to
   * the service is lost, in milliseconds. While the connection works, the service announces each change at once. A
   * whole number from 200 to 10,000. Default: 1,000.
   */
  maxStaleMs?: number | undefined
  /**
   * The maximum number of cached sessions. The least recently used session is evicted first. From 1 to 1,000,000.
   * Default: 10,000.
   */
  size?: number | undefined
}
