import type { TokenService } from "@authwire/proto/slim"
import type { JWT, JWTDecodeParams, JWTEncodeParams } from "@authwire/token"
import type { Client } from "@connectrpc/connect"
import { invalid } from "../error.js"
import { callsOf } from "./adapter.js"
import { jsonObject } from "./extra.js"
import { text } from "./field.js"

/** What Auth.js's `jwt` option takes: `encode` and `decode` (contract section 2.6, JWTOptions). */
export type RemoteJwtMethods = ReturnType<typeof createRemoteJwt>

/**
 * Encodes and decodes the session tokens of Auth.js with the secrets of the service. The `secret` that Auth.js passes is
 * neither used nor sent: an application needs one of its own only for what it signs itself, such as CSRF tokens.
 *
 * Both throw AuthwireError: UNAUTHENTICATED with the reason (`TOKEN_EXPIRED`, `NO_MATCHING_SECRET`, …) if a token cannot be
 * read, and the usual codes if the service cannot be asked.
 *
 * @param tokens - The client to call.
 * @param address - Where the service is, for error messages.
 */
export function createRemoteJwt(tokens: Client<typeof TokenService>, address: string) {
  const calling = callsOf(address)

  return {
    /** Issues a token. `maxAge` is in seconds; default 2,592,000 (30 days). */
    encode: calling("encode", async (params: JWTEncodeParams): Promise<string> => {
      const { token = {}, maxAge, salt } = params
      if (maxAge !== undefined && !Number.isFinite(maxAge))
        throw invalid("maxAge", "must be a finite number of seconds")
      const answer = await tokens.encode({
        payload: jsonObject("token", token ?? {}),
        salt: text("salt", salt),
        maxAge,
      })
      return answer.token
    }),

    /** The claims of a token; null if there is no token. */
    decode: calling("decode", async (params: JWTDecodeParams): Promise<JWT | null> => {
      const { token, salt } = params
      if (!token) return null
      const answer = await tokens.decode({ token: text("token", token), salt: text("salt", salt) })
      return answer.payload ?? {}
    }),
  }
}
