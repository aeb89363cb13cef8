import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  modifyAssertion,
  None,
  PrivateKeyJwt,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
} from "oauth4webapi"
import { orAborted } from "../util/abort.js"
import { boundedBody } from "./bounded-body.js"
import type { Provider } from "./provider.js"
import { type Answer, type Outcome, outcomeOf } from "./token-answer.js"

const signatures = ["RS", "PS", "ES"].flatMap((kind) => ["256", "384", "512"].map((bits) => kind + bits))
const signingAlgorithms = [...signatures, "EdDSA", "Ed25519"]

/**
 * Exchanges a refresh token at a provider's token endpoint (RFC 6749, section 6). Sends one request, follows no
 * redirect, limits the size of the answer and applies the provider's timeout. Does not throw.
 *
 * @param now The time in milliseconds since 1970. The lifetimes in the answer count from it.
 */
export async function refreshAtEndpoint(provider: Provider, refreshToken: string, now: number): Promise<Outcome> {
  // Not peerSignal(): after a pause that outlasts the lease, the request must not be sent before the time is over.
  const signal = AbortSignal.timeout(provider.timeoutMs)
  let answer: Answer | undefined
  try {
    answer = await ask(provider, refreshToken, signal)
  } catch {
    return { kind: "unavailable", failure: signal.aborted ? "timeout" : "network" }
  }
  if (answer === undefined) return { kind: "unavailable", failure: "too_large" }
  const outcome = outcomeOf(answer, now, provider.errorCodes)
  if (outcome.kind !== "tokens") {
    const { kept } = outcome
    const isQuoted = outcome.code !== undefined && quotes(outcome.code, refreshToken)
    return {
      ...outcome,
      ...(isQuoted && { code: undefined }),
      ...(kept && { kept: { ...kept, id_token: await validIdToken(provider, kept.id_token) } }),
    }
  }
  const { tokens } = outcome
  return { kind: "tokens", tokens: { ...tokens, id_token: await validIdToken(provider, tokens.id_token) } }
}

/** Whether an error code has a secret in it, or a part that is too long to be there by chance. */
function quotes(code: string, secret: string): boolean {
  return code.includes(secret) || (code.length >= 8 && secret.includes(code))
}

/** Returns the provider's answer; undefined if it is too large. */
async function ask(provider: Provider, refreshToken: string, signal: AbortSignal): Promise<Answer | undefined> {
  const [server, client] = partiesOf(provider)
  // The file of the secret may be on a file system that does not answer.
  const authentication = await orAborted(authenticationOf(provider), signal)
  const response = await refreshTokenGrantRequest(server, client, authentication, refreshToken, {
    signal,
    headers: { "user-agent": "authwire" },
    additionalParameters: { ...provider.parameters },
    [allowInsecureRequests]: provider.tokenEndpoint.startsWith("http:"),
    // A redirect is returned, not followed.
    [customFetch]: (url, options) => fetch(url, { ...options, ...formatted(provider, options), redirect: "manual" }),
  })
  const body = await boundedBody(response)
  return body && { status: response.status, retryAfter: response.headers.get("retry-after"), body }
}

function partiesOf(provider: Provider): [AuthorizationServer, Client] {
  const server: AuthorizationServer = {
    issuer: provider.issuer ?? provider.tokenEndpoint,
    token_endpoint: provider.tokenEndpoint,
    id_token_signing_alg_values_supported: signingAlgorithms,
  }
  return [server, { client_id: provider.clientId }]
}

async function authenticationOf(provider: Provider): Promise<ClientAuth> {
  const { credentials, clientId, clientIdName, tokenEndpoint, issuer } = provider
  switch (credentials.method) {
    case "client_secret_basic": {
      const value = btoa(`${formEncoded(clientId)}:${formEncoded(await credentials.secret())}`)
      return (_server, _client, _body, headers) => headers.set("authorization", `Basic ${value}`)
    }
    case "client_secret_post":
      return renamed(ClientSecretPost(await credentials.secret()), clientIdName)
    case "private_key_jwt": {
      const { keyId: kid, key } = credentials
      const audience = issuer === undefined ? tokenEndpoint : [issuer, tokenEndpoint]
      return PrivateKeyJwt(kid === undefined ? await key() : { key: await key(), kid }, {
        // Providers expect one of the two. Auth.js sends both, too.
        [modifyAssertion](_header, payload) {
          payload.aud = audience
        },
      })
    }
    case "none":
      return renamed(None(), clientIdName)
  }
}

/** Encodes one part of Basic authentication as Auth.js does, so that the provider which accepts it there does here. */
function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+")
}

/** Sends the client's id in the parameter of the given name. */
function renamed(authentication: ClientAuth, name: string): ClientAuth {
  return async (server, client, body, headers) => {
    await authentication(server, client, body, headers)
    body.delete("client_id")
    body.set(name, client.client_id)
  }
}

/** Returns the request's body and headers in the format of the provider. */
function formatted(
  { bodyFormat }: Provider,
  { body, headers }: { body: URLSearchParams; headers: Record<string, string> },
) {
  if (bodyFormat === "form") return {}
  return { body: JSON.stringify(Object.fromEntries(body)), headers: { ...headers, "content-type": "application/json" } }
}

/**
 * Returns an ID token if it is from the provider's issuer and for this client, by the rules of OpenID Connect. Otherwise
 * the answer is kept without it, because the provider may have replaced the refresh token already.
 */
async function validIdToken(provider: Provider, idToken: string | undefined): Promise<string | undefined> {
  if (idToken === undefined || provider.issuer === undefined) return undefined
  const answer = Response.json({ access_token: "-", token_type: "bearer", id_token: idToken })
  return processRefreshTokenResponse(...partiesOf(provider), answer).then(
    () => idToken,
    () => undefined,
  )
}
