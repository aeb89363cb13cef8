import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  None,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from "oauth4webapi"
import type { RefreshedTokens } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { isObject, parsedJson } from "../util/json.js"
import type { Provider } from "./provider.js"

/** The reasons why there is no usable answer. */
export type EndpointFailure = "network" | "timeout" | "status" | "malformed" | "too_large"

/** The outcome of a refresh request to the provider. */
export type Outcome =
  | { kind: "tokens"; tokens: RefreshedTokens }
  /** The provider no longer accepts the refresh token. */
  | { kind: "refused" }
  /** The provider rejects the service as a client, or its request: `invalid_client` and others. */
  | { kind: "client"; oauthError: string }
  /**
   * @param retryAfterMs The time after which the provider may be asked again, if the provider specified one.
   * @param refreshToken A new refresh token in an answer that is otherwise unusable. The one sent is no longer valid.
   */
  | {
      kind: "unavailable"
      failure: EndpointFailure
      retryAfterMs?: number | undefined
      refreshToken?: string | undefined
    }

/** The maximum size of an answer in bytes. Three tokens of the maximum size fit into it. */
const maxAnswerBytes = 512 * 1024
/** The limits of the schema, in bytes. */
const maxTokenBytes = 131_072
const maxScopeBytes = 16_384
const maxLifetimeSeconds = 10 * 365 * 86_400
const maxRetryAfterMs = 300_000

/**
 * The errors of RFC 6749, section 5.2, and GitHub's names for them. Other error texts of a provider are not passed on.
 */
const refusals: ReadonlySet<string> = new Set(["invalid_grant", "bad_refresh_token"])
const clientErrors: Readonly<Record<string, string>> = {
  invalid_request: "invalid_request",
  invalid_client: "invalid_client",
  incorrect_client_credentials: "invalid_client",
  unauthorized_client: "unauthorized_client",
  unsupported_grant_type: "unsupported_grant_type",
  invalid_scope: "invalid_scope",
}
const signatures = ["RS", "PS", "ES"].flatMap((kind) => ["256", "384", "512"].map((bits) => kind + bits))
const signingAlgorithms = [...signatures, "EdDSA", "Ed25519"]

interface Answer {
  status: number
  retryAfter: string | null
  body: unknown
}

/**
 * Exchanges a refresh token at a provider's token endpoint (RFC 6749, section 6). Sends one request, follows no
 * redirect, limits the size of the answer and applies the provider's timeout. Does not throw.
 *
 * @param now The time in milliseconds since 1970. The lifetimes in the answer count from it.
 */
export async function refreshAtEndpoint(provider: Provider, refreshToken: string, now: number): Promise<Outcome> {
  const signal = AbortSignal.timeout(provider.timeoutMs)
  try {
    const answer = await ask(provider, refreshToken, signal)
    if (answer === undefined) return { kind: "unavailable", failure: "too_large" }
    return failureOf(answer) ?? (await tokensOf(provider, answer, now)) ?? malformed(answer)
  } catch {
    return { kind: "unavailable", failure: signal.aborted ? "timeout" : "network" }
  }
}

/** Returns the provider's answer; undefined if it is too large. */
async function ask(provider: Provider, refreshToken: string, signal: AbortSignal): Promise<Answer | undefined> {
  const [server, client] = partiesOf(provider)
  // The file of the secret may be on a file system that does not answer.
  const authentication = await orAborted(authenticationOf(provider), signal)
  const response = await refreshTokenGrantRequest(server, client, authentication, refreshToken, {
    signal,
    headers: { "user-agent": "authwire" },
    [allowInsecureRequests]: provider.tokenEndpoint.startsWith("http:"),
    // A redirect is returned, not followed.
    [customFetch]: (url, options) => fetch(url, { ...options, redirect: "manual" }),
  })
  const text = await boundedText(response)
  if (text === undefined) return undefined
  return { status: response.status, retryAfter: response.headers.get("retry-after"), body: parsedJson(text) }
}

function partiesOf(provider: Provider): [AuthorizationServer, Client] {
  const server: AuthorizationServer = {
    issuer: provider.issuer ?? provider.tokenEndpoint,
    token_endpoint: provider.tokenEndpoint,
    id_token_signing_alg_values_supported: signingAlgorithms,
  }
  return [server, { client_id: provider.clientId }]
}

async function authenticationOf({ authMethod, clientSecret }: Provider): Promise<ClientAuth> {
  if (clientSecret === undefined) return None()
  const secret = await clientSecret()
  return authMethod === "client_secret_post" ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}

async function boundedText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // The signal of the request also ends this loop. Leaving the loop closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

/** Returns the outcome of an answer without tokens; undefined for an answer that should contain tokens. */
function failureOf({ status, retryAfter, body }: Answer): Outcome | undefined {
  const error = isObject(body) && typeof body.error === "string" ? body.error : undefined
  // Some providers answer 200 with an error.
  if (error !== undefined && (status === 200 || (status >= 400 && status < 429))) {
    if (refusals.has(error)) return { kind: "refused" }
    const oauthError = Object.hasOwn(clientErrors, error) ? clientErrors[error] : undefined
    if (oauthError !== undefined) return { kind: "client", oauthError }
  }
  if (status === 200 && error === undefined) return undefined
  return { kind: "unavailable", failure: "status", retryAfterMs: retryAfterOf(retryAfter) }
}

function retryAfterOf(header: string | null): number | undefined {
  if (header === null || !/^\d{1,9}$/.test(header)) return undefined
  return Math.min(Number(header) * 1000, maxRetryAfterMs)
}

/** Returns the tokens of an answer; undefined if it has no access token that can be used and stored. */
async function tokensOf(provider: Provider, { body }: Answer, now: number): Promise<Outcome | undefined> {
  if (!isObject(body)) return undefined
  const { id_token: idToken, ...given } = body
  const others = withoutOddForms(given)
  let answer: TokenEndpointResponse
  try {
    answer = await processed(provider, others)
  } catch {
    return undefined
  }
  const { access_token, refresh_token, token_type, scope, expires_in } = answer
  const tokens: RefreshedTokens = { access_token, token_type, refresh_token, scope }
  if (!isShort(access_token, maxTokenBytes) || !isShort(refresh_token, maxTokenBytes)) return undefined
  if (!isShort(token_type, 255)) return undefined
  // The tokens are usable without it.
  if (!isShort(scope, maxScopeBytes)) tokens.scope = undefined
  if (expires_in !== undefined && expires_in <= maxLifetimeSeconds) {
    tokens.expires_in = expires_in
    tokens.expires_at = Math.floor(now / 1000) + expires_in
  }
  if (provider.issuer !== undefined && typeof idToken === "string" && isShort(idToken, maxTokenBytes)) {
    tokens.id_token = await processed(provider, { ...others, id_token: idToken }).then(
      () => idToken,
      // The answer is kept without the ID token, because the provider may have replaced the refresh token already.
      () => undefined,
    )
  }
  return { kind: "tokens", tokens }
}

/** Returns the outcome of an answer without usable tokens. Its refresh token is kept if it can be stored. */
function malformed({ body }: Answer): Outcome {
  const refreshToken = isObject(body) ? body.refresh_token : undefined
  const isKept = typeof refreshToken === "string" && refreshToken !== "" && isShort(refreshToken, maxTokenBytes)
  return { kind: "unavailable", failure: "malformed", ...(isKept && { refreshToken }) }
}

/**
 * Removes or converts members in forms that some providers use and the library rejects. The refresh token may already
 * be replaced. Scopes may be a list. An answer without a token type is taken as one with bearer tokens.
 */
function withoutOddForms({ scope, refresh_token, expires_in, token_type, ...others }: Record<string, unknown>) {
  const lifetime = Number.parseFloat(String(expires_in))
  const scopes = Array.isArray(scope) && scope.every((one) => typeof one === "string") ? scope.join(" ") : scope
  return {
    ...others,
    token_type: token_type === "" ? "bearer" : (token_type ?? "bearer"),
    ...(typeof scopes === "string" && { scope: scopes }),
    ...(refresh_token !== undefined && refresh_token !== null && refresh_token !== "" && { refresh_token }),
    ...(Number.isFinite(lifetime) && lifetime >= 0 && { expires_in }),
  }
}

/** Checks an answer against the rules of OAuth and OpenID Connect. Throws the errors of the library. */
function processed(provider: Provider, body: object): Promise<TokenEndpointResponse> {
  const response = Response.json(body)
  return processRefreshTokenResponse(...partiesOf(provider), response)
}

/**
 * Whether a text can be stored: it does not exceed the schema's limit in bytes, and is well-formed Unicode without
 * U+0000.
 */
function isShort(text: string | undefined, bytes: number): boolean {
  return text === undefined || (text.isWellFormed() && !text.includes("\0") && Buffer.byteLength(text) <= bytes)
}
