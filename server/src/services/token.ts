import type { TokenService } from "@authwire/proto"
import { decode, encode, getToken, requestHeaders, TokenError } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import type { Implementation } from "../dispatch/call.js"
import { Failure } from "../errors.js"
import { checkJson } from "./json.js"

/**
 * The token module, on the wire.
 *
 * @param deps.secrets - what encrypts and decrypts where a request brings no secrets, the newest first
 * @param deps.secureCookie - whether the session cookie has the secure prefix where a request does not say
 */
export function tokenService(deps: {
  secrets: readonly string[]
  secureCookie: boolean
}): Implementation<typeof TokenService> {
  const secretsFor = (request: { secrets: string[] }): string[] => {
    const secrets = request.secrets.length > 0 ? request.secrets : [...deps.secrets]
    if (secrets.length === 0) throw new Failure("MISSING_SECRET")
    return secrets
  }

  return {
    async encode(request) {
      const { payload = {}, salt, maxAge } = request
      checkJson(payload, "payload")
      const secret = secretsFor(request)
      return {
        token: await named(encode({ token: payload, salt, secret, ...(maxAge === undefined ? {} : { maxAge }) })),
      }
    },

    async decode(request) {
      const { token, salt } = request
      const payload = await named(decode<JsonObject>({ token, salt, secret: secretsFor(request) }))
      // Null is the answer to no token; the schema asks for one.
      if (payload === null) throw new Failure("TOKEN_MALFORMED")
      return { payload }
    },

    async getToken(request) {
      const headers = requestHeaders(request.headers.map(({ name, value }) => [name, value]))
      const { cookieName, salt, raw, secureCookie = deps.secureCookie } = request
      const params = {
        req: { headers },
        secureCookie,
        ...(cookieName === undefined ? {} : { cookieName }),
        ...(salt === undefined ? {} : { salt }),
      }
      if (raw) {
        const token = await getToken({ ...params, raw: true })
        return token === null ? {} : { result: { case: "raw", value: token } }
      }
      const payload = await named(getToken({ ...params, secret: secretsFor(request) }))
      return payload === null ? {} : { result: { case: "payload", value: payload as JsonObject } }
    },
  }
}

async function named<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof TokenError) throw new Failure(error.code, { cause: error })
    throw error
  }
}
