import type { CryptoKey } from "jose"

/** A provider's token endpoint, and the service's registration as a client there. */
export interface Provider {
  /** `https:`, or `http:` on loopback. */
  readonly tokenEndpoint: string
  /** The issuer of the ID tokens. If undefined, ID tokens from the endpoint are not stored. */
  readonly issuer: string | undefined
  readonly clientId: string
  /** The parameter that has the client's id. `client_id`, unless the provider uses another name. */
  readonly clientIdName: string
  readonly credentials: ClientCredentials
  /** The format of the request's body. */
  readonly bodyFormat: BodyFormat
  /** Further parameters of the request. */
  readonly parameters: Readonly<Record<string, string>>
  /** Error codes of this provider, and what they mean. */
  readonly errorCodes: ReadonlyMap<string, ErrorKind>
  /** The total time that the endpoint may take to answer, in milliseconds. */
  readonly timeoutMs: number
  /** What is done when the provider states that an account has ended. Undefined: its signals are not accepted. */
  readonly signals: AccountPolicy | undefined
}

export const accountPolicies = ["revoke", "disable", "unlink"] as const

/**
 * `revoke`: the user's sessions that began at the provider end, and the account's tokens are dropped; `disable`: the user is
 * disabled; `unlink`: the account is unlinked, and all sessions of the user end.
 */
export type AccountPolicy = (typeof accountPolicies)[number]

export const authMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const

export type AuthMethod = (typeof authMethods)[number]

/**
 * How the service authenticates as a client (RFC 6749, section 2.3.1; OpenID Connect Core 1.0, section 9). With `none`
 * it sends only its id, as a public client. The functions return the current secret or key, or reject if it is not
 * available.
 */
export type ClientCredentials =
  | { readonly method: "client_secret_basic" | "client_secret_post"; secret(): Promise<string> }
  | { readonly method: "private_key_jwt"; readonly keyId: string | undefined; key(): Promise<CryptoKey> }
  | { readonly method: "none" }

export const bodyFormats = ["form", "json"] as const

export type BodyFormat = (typeof bodyFormats)[number]

export const errorKinds = ["refused", "client", "unavailable"] as const

/** What a failed refresh means: the grant is rejected, the client is rejected, or the provider is not available. */
export type ErrorKind = (typeof errorKinds)[number]

/** The providers of all tenants. A tenant cannot use the providers of another tenant. */
export interface Providers {
  of(tenant: string, name: string): Provider | undefined
}
