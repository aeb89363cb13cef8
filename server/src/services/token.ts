import type { TokenService } from "@authwire/proto"
import { requestHeaders, TokenError, type TokenModule } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import { readableClaims } from "../introspection/claims.js"
import type { Call, Implementation } from "../rpc/call.js"
import { checkJson } from "../rpc/json.js"

/**
 * Creates the service for the functions of the token module.
 *
 * @param deps.secretsOf - returns the secrets of a tenant, the newest first, for requests without secrets
 * @param deps.secureCookie - whether the session cookie has the secure prefix if the request does not say
 * @param deps.tokens - the token module, with one cache of decrypted tokens for all tenants
 */
export function tokenService(deps: {
  secretsOf: (tenant: string) => readonly string[]
  secureCookie: boolean
  tokens: TokenModule
}): Implementation<typeof TokenService> {
  const { encode, getToken } = deps.tokens
  const readable = readableClaims(deps.tokens)

  const secretsFor = (request: { secrets: string[] }, { tenant }: Call): string[] => {
    const secrets = request.secrets.length > 0 ? request.secrets : [...deps.secretsOf(tenant)]
    if (secrets.length === 0) throw new Failure("MISSING_SECRET")
    return secrets
  }

  return {
    async encode(request, call) {
      const { payload = {}, salt, maxAge } = request
      checkJson(payload, "payload")
      const secret = secretsFor(request, call)
      return {
        token: await named(encode({ token: payload, salt, secret, ...(maxAge === undefined ? {} : { maxAge }) })),
      }
    },

    async decode(request, call) {
      const { token, salt } = request
      const payload = await named(readable({ token, salt, secret: secretsFor(request, call) }))
      // `readable` returns null only without a token, and the schema requires one.
      if (payload === null) throw new Failure("TOKEN_MALFORMED")
      return { payload }
    },

    async getToken(request, call) {
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
      const payload = await named(getToken({ ...params, secret: secretsFor(request, call), decode: readable }))
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
