import type { TokenService } from "@authwire/proto/slim"
import type { JWT, JWTDecodeParams, JWTEncodeParams } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import type { Client } from "@connectrpc/connect"
import { invalid, malformed } from "../errors/error.js"
import { adapterMethods } from "./adapter.js"
import { checkText, text } from "./field.js"

/** The functions for Auth.js's `jwt` option: `encode` and `decode` (contract section 2.6, JWTOptions). */
export type RemoteJwtMethods = ReturnType<typeof createRemoteJwt>

/**
 * Creates functions that encode and decode the session tokens of Auth.js with the secrets of the service. The `secret`
 * that Auth.js passes is neither used nor sent. An application needs its own secret only for values that it signs
 * itself, such as CSRF tokens.
 *
 * Both functions throw AuthwireError: UNAUTHENTICATED with the reason (`TOKEN_EXPIRED`, `NO_MATCHING_SECRET`, …) if a
 * token cannot be read, and the usual codes if the call fails.
 *
 * @param tokens - The client to call.
 * @param address - The address of the service, for error messages.
 */
export function createRemoteJwt(tokens: Client<typeof TokenService>, address: string) {
  const calling = adapterMethods(address)

  return {
    /** Issues a token. `maxAge` is its lifetime in seconds. Default: 2,592,000 (30 days). */
    encode: calling("encode", async (params: JWTEncodeParams): Promise<string> => {
      const { token = {}, maxAge, salt } = params
      if (maxAge !== undefined && !Number.isFinite(maxAge))
        throw invalid("maxAge", "must be a finite number of seconds")
      // As Auth.js does it, which makes null of NaN: an `expires_at` that was computed without `expires_in`, for example.
      const payload: JsonObject = JSON.parse(JSON.stringify(token ?? {}))
      checkText("token", payload)
      const answer = await tokens.encode({
        payload,
        salt: text("salt", salt),
        maxAge,
      })
      if (answer.token === "") throw malformed("without a token")
      return answer.token
    }),

    /** Returns the claims of a token, or null if the token is missing or empty. */
    decode: calling("decode", async (params: JWTDecodeParams): Promise<JWT | null> => {
      const { token, salt } = params
      if (!token) return null
      const answer = await tokens.decode({ token: text("token", token), salt: text("salt", salt) })
      if (answer.payload === undefined) throw malformed("without a payload")
      return answer.payload
    }),
  }
}
