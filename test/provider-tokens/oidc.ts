import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { listen } from "@authwire/test-support/connections/free-port.js"
import Provider from "oidc-provider"

/**
 * A provider of OpenID Connect that rotates every refresh token, and revokes the grant if a refresh token is used
 * twice.
 */
export interface OidcProvider {
  readonly issuer: string
  readonly tokenEndpoint: string
  /** The outcomes of refreshes in their order: `OK` or the error. */
  readonly outcomes: string[]
  /** The number of refresh requests. */
  readonly asked: () => number
  /** Signs a user in. Returns the first refresh token. */
  signIn(accountId: string): Promise<string>
  /** Whether it has issued an access token and still accepts it. */
  takes(accessToken: string): Promise<boolean>
  /** Delays all responses until `open` is called. Requests are still read and executed. */
  hold(): { open(): void; held(): number }
  close(): Promise<void>
}

export const client = { id: "app", secret: "a secret/with +odd&characters%" }

/** The lifetime of its access tokens, in seconds. */
export const lifetime = 3_600

export async function startOidcProvider(): Promise<OidcProvider> {
  const outcomes: string[] = []
  let asked = 0
  let gate: Promise<void> | undefined
  let held = 0
  const server = createServer()
  const issuer = `http://127.0.0.1:${await listen(server)}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ["https://app.example/callback"],
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    rotateRefreshToken: true,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: lifetime, IdToken: lifetime, RefreshToken: 86_400, Grant: 86_400 },
  })
  provider.on("grant.success", () => outcomes.push("OK"))
  provider.on("grant.error", (_context, error) => outcomes.push(error.error))
  const handle = provider.callback()
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    asked++
    const end = response.end.bind(response)
    const waited = gate
    if (waited !== undefined) {
      // The request is executed immediately; only its response is delayed.
      response.end = ((...args: Parameters<typeof end>) => {
        held++
        waited.then(() => end(...args))
        return response
      }) as typeof response.end
    }
    handle(request, response)
  })
  return {
    issuer,
    tokenEndpoint: `${issuer}/token`,
    outcomes,
    asked: () => asked,
    async signIn(accountId) {
      const grant = new provider.Grant({ accountId, clientId: client.id })
      grant.addOIDCScope("openid offline_access")
      const grantId = await grant.save()
      const token = new provider.RefreshToken({
        accountId,
        client: (await provider.Client.find(client.id)) as NonNullable<
          Awaited<ReturnType<typeof provider.Client.find>>
        >,
        grantId,
        gty: "authorization_code",
        scope: "openid offline_access",
        authTime: Math.floor(Date.now() / 1000),
      } as never)
      return token.save()
    },
    takes: async (accessToken) => {
      const headers = { authorization: `Bearer ${accessToken}` }
      return (await fetch(`${issuer}/me`, { headers })).status === 200
    },
    hold() {
      let open = () => {}
      held = 0
      gate = new Promise((resolve) => {
        open = () => {
          gate = undefined
          resolve()
        }
      })
      return { open, held: () => held }
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
