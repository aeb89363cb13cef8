import type { TokenService } from "@authwire/proto"
import { requestHeaders, TokenError, type TokenModule } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { Failure } from "../errors/failure.js"
import { StoreError } from "../errors/store-error.js"
import { readableClaims } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"
import type { Caller, SessionPolicyStore } from "../store/store.js"
import { orAborted } from "../util/abort.js"
import { oncePer } from "../util/once-per.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { peerSignal } from "../util/peer-timeout.js"

/** The lifetime of a token without `max_age`, in seconds. */
const defaultMaxAge = 30 * 86_400

/**
 * Creates the service for the functions of the token module.
 *
 * @param deps.secretsOf - returns the secrets of a tenant, the newest first, for requests without secrets
 * @param deps.secureCookie - whether the session cookie has the secure prefix if the request does not say
 * @param deps.longestAge - the longest lifetime of a token that the session policy of a tenant allows
 * @param deps.tokens - the token module, with one cache of decrypted tokens for all tenants
 */
export function tokenService(deps: {
  secretsOf: (tenant: string) => readonly string[]
  secureCookie: boolean
  longestAge: LongestAge
  tokens: TokenModule
}): Implementation<typeof TokenService> {
  const { nextAuth4: ofNextAuth4, ...ofAuthjs } = deps.tokens

  const secretsFor = (request: { secrets: string[] }, { tenant }: Caller): string[] => {
    const secrets = request.secrets.length > 0 ? request.secrets : [...deps.secretsOf(tenant)]
    if (secrets.length === 0) throw new Failure("MISSING_SECRET")
    return secrets
  }

  const decodeAuthjs = readableClaims(ofAuthjs.decode)
  const decodeNextAuth4 = readableClaims(ofNextAuth4.decode)
  const decodeFor = ({ nextAuth4 }: { nextAuth4: boolean }) => (nextAuth4 ? decodeNextAuth4 : decodeAuthjs)

  return {
    async encode(request, caller) {
      const { payload = {}, salt, nextAuth4 } = request
      const longest = ((await deps.longestAge(caller.tenant)) ?? Number.POSITIVE_INFINITY) / 1000
      const maxAge = (request.maxAge ?? defaultMaxAge) > longest ? longest : request.maxAge
      const params = {
        token: payload,
        salt,
        secret: secretsFor(request, caller),
        ...(maxAge === undefined ? {} : { maxAge }),
      }
      return { token: await named(nextAuth4 ? ofNextAuth4.encode(params) : ofAuthjs.encode(params)) }
    },

    async decode(request, caller) {
      const { token, salt } = request
      const payload = await named(decodeFor(request)({ token, salt, secret: secretsFor(request, caller) }))
      // It is null only without a token, and the schema requires one.
      if (payload === null) throw new Failure("TOKEN_MALFORMED")
      return { payload }
    },

    async getToken(request, caller) {
      const { getToken } = request.nextAuth4 ? ofNextAuth4 : ofAuthjs
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
      const payload = await named(
        getToken({ ...params, secret: secretsFor(request, caller), decode: decodeFor(request) }),
      )
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

/** How long a policy that was read is used without another read, in milliseconds. */
const freshMs = 5_000

/** The timeout of a read, in milliseconds. JWTs are issued during an outage of the database, by the policy that is known. */
const readMs = 1_000

/** Returns how long a tenant's sessions may last, in ms, if limited. Throws DATABASE_UNAVAILABLE if never read. */
type LongestAge = (tenant: string) => Promise<number | undefined>

/** @param clock a clock for durations, in milliseconds, that also advances while the machine is suspended. */
export function longestAges(policies: Pick<SessionPolicyStore, "get">, clock: () => number): LongestAge {
  const ageOf = oncePer((tenant: string) => {
    let found: { maxAge: number | undefined; until: number } | undefined
    const read = oneAtATime(async () => {
      const signal = peerSignal(readMs)
      const asked = clock()
      const { maxAge } = await orAborted(policies.get({ tenant, signal }), signal)
      found = { maxAge, until: asked + freshMs }
    })
    return async () => {
      if (found !== undefined && clock() < found.until) return found.maxAge
      try {
        await read()
      } catch (error) {
        if (found === undefined) {
          throw new StoreError("DATABASE_UNAVAILABLE", "the session policy cannot be read", { cause: error })
        }
        found.until = clock() + freshMs
      }
      return found?.maxAge
    }
  })

  return (tenant) => ageOf(tenant)()
}
