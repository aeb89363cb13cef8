import type { TokenService } from "@authwire/proto/slim"
import type { JWT } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import type { Client } from "@connectrpc/connect"
import { invalid, malformed, wrongOption } from "../errors/error.js"
import { adapterMethods } from "./adapter.js"
import { checkText, text } from "./field.js"
import type { JwtOptions } from "./options.js"

/** The functions for Auth.js's `jwt` option: `encode` and `decode` (contract section 2.6, JWTOptions). */
export type RemoteJwtMethods = ReturnType<typeof createRemoteJwt>

/** The parameters of both functions of RemoteJwt, as Auth.js and next-auth 4 pass them. */
interface RemoteParams {
  /** Not used. */
  secret?: unknown
  /** The salt of a token of Auth.js. next-auth 4 passes none. */
  salt?: string
}

export interface RemoteEncodeParams extends RemoteParams {
  token?: JWT
  maxAge?: number
}

export interface RemoteDecodeParams extends RemoteParams {
  token?: string
}

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
export function createRemoteJwt(tokens: Client<typeof TokenService>, address: string, options: JwtOptions) {
  const calling = adapterMethods(address)
  const { nextAuth4 = false } = options
  if (typeof nextAuth4 !== "boolean") throw wrongOption("nextAuth4", "must be a boolean")

  /** Returns the salt. Auth.js always passes one, and next-auth 4 none. */
  function saltOf(salt: string | undefined): string {
    if (nextAuth4 && salt === undefined) return ""
    if (salt === undefined)
      throw invalid("salt", "is missing; an application of next-auth 4 needs the option nextAuth4")
    return text("salt", salt)
  }

  return {
    /** Issues a token. `maxAge` is its lifetime in seconds. Default: 2,592,000 (30 days). */
    encode: calling("encode", async (params: RemoteEncodeParams): Promise<string> => {
      const { token = {}, maxAge, salt } = params
      if (maxAge !== undefined && !Number.isFinite(maxAge))
        throw invalid("maxAge", "must be a finite number of seconds")
      // As Auth.js does it, which makes null of NaN: an `expires_at` that was computed without `expires_in`, for example.
      const payload: JsonObject = JSON.parse(JSON.stringify(token ?? {}))
      checkText("token", payload)
      const answer = await tokens.encode({
        payload,
        salt: saltOf(salt),
        maxAge,
        nextAuth4,
      })
      if (answer.token === "") throw malformed("without a token")
      return answer.token
    }),

    /** Returns the claims of a token, or null if the token is missing or empty. */
    decode: calling("decode", async (params: RemoteDecodeParams): Promise<JWT | null> => {
      const { token, salt } = params
      if (!token) return null
      const answer = await tokens.decode({ token: text("token", token), salt: saltOf(salt), nextAuth4 })
      if (answer.payload === undefined) throw malformed("without a payload")
      return answer.payload
    }),
  }
}
