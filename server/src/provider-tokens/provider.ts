/** A provider's token endpoint, and what the service is there. */
export interface Provider {
  /** `https:`, or `http:` on loopback. */
  readonly tokenEndpoint: string
  /** Who issues the ID tokens; undefined: ID tokens of the endpoint are not taken over. */
  readonly issuer: string | undefined
  readonly clientId: string
  readonly authMethod: AuthMethod
  /** The secret as it is now; undefined with the method `none`. Throws when it cannot be had. */
  readonly clientSecret: (() => Promise<string>) | undefined
  /** How long the endpoint may take to answer, all in all. */
  readonly timeoutMs: number
}

/** How the service says who it is (RFC 6749, section 2.3.1); `none`: by its name alone, as a public client. */
export const authMethods = ["client_secret_basic", "client_secret_post", "none"] as const

export type AuthMethod = (typeof authMethods)[number]

/** The providers of all tenants. No tenant has those of another. */
export interface Providers {
  of(tenant: string, name: string): Provider | undefined
}
