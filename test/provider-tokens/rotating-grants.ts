import { createServer } from "node:http"
import { buffer } from "node:stream/consumers"
import { listen } from "@authwire/test-support/connections/free-port.js"

/** The tokens that a provider has just issued. */
export interface Issued {
  readonly access: string
  readonly refresh: string
}

/** An answer of a token endpoint. A body that is not a text is sent as JSON. */
export interface TokenAnswer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: unknown
  /** The refresh token was not replaced, because the provider has rejected the request. */
  readonly isRejection?: boolean
}

/**
 * A token endpoint that replaces each refresh token, ends the grant if one is used twice, and answers in the form that a
 * test chooses.
 */
export interface RotatingGrants {
  readonly issuer: string
  readonly tokenEndpoint: string
  /** The form of the following answers. */
  answer: (issued: Issued) => TokenAnswer
  /** The number of requests for a grant. */
  asked(grant: string): number
  /** What the endpoint `/userinfo` returns. */
  profile: unknown
  /** Begins a grant, as a request with the authorization code `grant` does. Returns its refresh token. */
  begin(grant: string): string
  /** Ends a grant, as a user does who revokes it. */
  end(grant: string): void
  /** Whether the grant was ended because a refresh token was used twice. */
  isEnded(grant: string): boolean
  close(): Promise<void>
}

export const usualAnswer = ({ access, refresh }: Issued): TokenAnswer => ({
  body: { access_token: access, token_type: "bearer", refresh_token: refresh, expires_in: 3_600 },
})

const refusal: TokenAnswer = { status: 400, body: { error: "invalid_grant" }, isRejection: true }

export async function startRotatingGrants(): Promise<RotatingGrants> {
  const grants = new Map<string, { valid: string; uses: number; isEnded: boolean }>()
  const server = createServer(async (request, response) => {
    const send = ({ status = 200, headers, body }: TokenAnswer) => {
      response.writeHead(status, { "content-type": "application/json", ...headers })
      response.end(typeof body === "string" ? body : JSON.stringify(body))
    }
    if (request.url === "/userinfo") return send({ body: endpoint.profile })
    const form = new URLSearchParams((await buffer(request)).toString())
    const code = form.get("code")
    if (code !== null) return send(endpoint.answer({ access: `access ${code}`, refresh: endpoint.begin(code) }))
    const token = form.get("refresh_token") ?? ""
    const grant = grants.get(token.replace(/~\d+$/, ""))
    if (grant === undefined) return send(refusal)
    grant.uses++
    if (token !== grant.valid) grant.isEnded = true
    const next = { access: `access ${token}`, refresh: token.replace(/\d+$/, (digits) => `${Number(digits) + 1}`) }
    const answer = grant.isEnded ? refusal : endpoint.answer(next)
    if (!answer.isRejection) grant.valid = next.refresh
    send(answer)
  })
  const issuer = `http://127.0.0.1:${await listen(server)}`
  const endpoint: RotatingGrants = {
    issuer,
    tokenEndpoint: `${issuer}/token`,
    answer: usualAnswer,
    asked: (grant) => grants.get(grant)?.uses ?? 0,
    profile: {},
    end(grant) {
      const found = grants.get(grant)
      if (found !== undefined) found.isEnded = true
    },
    begin(grant) {
      grants.set(grant, { valid: `${grant}~1`, uses: 0, isEnded: false })
      return `${grant}~1`
    },
    isEnded: (grant) => grants.get(grant)?.isEnded === true,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return endpoint
}
