/** A service for tests. */
export interface TestService {
  /** URL of its gRPC listener, for `@authwire/client`. */
  readonly url: string
  /** URL of its HTTP listener, for `@authwire/client/edge`, Connect and curl. */
  readonly httpUrl: string
  /** An API key of the tenant `default`. Every call needs one, as in production. */
  readonly apiKey: string
  /** Ends the service and its data. May be called more than once. */
  stop(): Promise<void>
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

export interface TestServiceOptions {
  /** The scopes of `apiKey`. Default: `["all"]`, which leaves out those that the documentation names. */
  scopes?: readonly string[]
  /** Additional arguments of `authwire serve`, such as `--audit-store=database`. They replace the defaults. Default: none. */
  args?: readonly string[]
  /**
   * Variables of the service, such as AUTH_SECRET for an application that reads tokens itself. Default: a random secret. Its
   * own variables whose names begin with AUTHWIRE_ or AUTH_ are not passed on, so that a test never reaches a real database.
   */
  env?: Readonly<Record<string, string>>
}

/**
 * Starts a service on free ports of 127.0.0.1, with an empty database in memory, in a process of its own that ends with this
 * one. It is ready when the promise resolves, after about a second. Warnings of its log go to standard error. Needs Node 22.16 or
 * newer.
 *
 * @throws Error with the output of the service if it does not start.
 * @example
 * ```ts
 * await using authwire = await startAuthwire()
 * const client = createAuthwireClient(authwire)
 * ```
 */
export function startAuthwire(options?: TestServiceOptions): Promise<TestService>
