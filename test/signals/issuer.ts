import { createServer } from "node:http"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from "jose"

/** An issuer of signals, with keys of its own. */
export interface Issuer {
  readonly issuer: string
  /** The paths that were asked for. */
  readonly asked: string[]
  /** The public key, as the issuer shows it. */
  readonly jwk: Awaited<ReturnType<typeof exportJWK>>
  /** Signs claims with its current key. Claims that are undefined are left out. */
  sign(claims: object, header?: Partial<JWTHeaderParameters>, key?: CryptoKey): Promise<string>
  /** Makes a new key, under another `kid`. */
  rotate(): Promise<void>
  /** Whether it answers; otherwise with 500. */
  isUp: boolean
  /** Further metadata that it publishes. */
  metadata: object
  close(): void
}

export const clientId = "app"

export async function startIssuer(): Promise<Issuer> {
  const asked: string[] = []
  let count = 0
  const newKey = async () => {
    const pair = await generateKeyPair("ES256", { extractable: true })
    const kid = `key ${++count}`
    return { ...pair, kid, jwk: { ...(await exportJWK(pair.publicKey)), kid } }
  }
  let key = await newKey()
  const server = createServer((request, response) => {
    asked.push(request.url ?? "")
    const bodies: Record<string, object> = {
      "/.well-known/openid-configuration": { ...made.metadata, issuer: made.issuer, jwks_uri: `${made.issuer}/keys` },
      "/keys": { keys: [key.jwk] },
    }
    response.writeHead(made.isUp ? 200 : 500, { "content-type": "application/json" })
    response.end(JSON.stringify(bodies[request.url ?? ""] ?? {}))
  })
  const made: Issuer = {
    issuer: `http://127.0.0.1:${await listen(server)}`,
    asked,
    get jwk() {
      return key.jwk
    },
    isUp: true,
    metadata: {},
    sign(claims, header = {}, other) {
      const iat = Math.floor(Date.now() / 1000)
      const whole = { iss: made.issuer, aud: clientId, iat, jti: crypto.randomUUID(), ...claims }
      const given = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== undefined))
      return new SignJWT(given)
        .setProtectedHeader({ alg: "ES256", kid: key.kid, ...header })
        .sign(other ?? key.privateKey)
    },
    async rotate() {
      key = await newKey()
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return made
}

export const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

/** The claims of a logout token. */
export const logout = (claims: object) => ({ events: { [logoutEvent]: {} }, ...claims })

/** The claims of an event of RISC or CAEP about an account of the issuer. */
export const event = (type: string, subject?: object) => ({
  events: { [`https://schemas.openid.net/secevent/${type.replace(".", "/event-type/")}`]: subject ? { subject } : {} },
})

/** The claims of a notification of Apple. */
export const apple = (type: string, sub: string) => ({ events: JSON.stringify({ type, sub, event_time: Date.now() }) })
