/** A provider's token endpoint, and the service's registration as a client there. */
export interface Provider {
  /** `https:`, or `http:` on loopback. */
  readonly tokenEndpoint: string
  /** The issuer of the ID tokens. If undefined, ID tokens from the endpoint are not stored. */
  readonly issuer: string | undefined
  readonly clientId: string
  readonly authMethod: AuthMethod
  /** Returns the current secret, or throws if it is not available; undefined with the method `none`. */
  readonly clientSecret: (() => Promise<string>) | undefined
  /** The total time that the endpoint may take to answer, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * How the service authenticates as a client (RFC 6749, section 2.3.1). With `none` it sends only its id, as a public
 * client.
 */
export const authMethods = ["client_secret_basic", "client_secret_post", "none"] as const

export type AuthMethod = (typeof authMethods)[number]

/** The providers of all tenants. A tenant cannot use the providers of another tenant. */
export interface Providers {
  of(tenant: string, name: string): Provider | undefined
}
