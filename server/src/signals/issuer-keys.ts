import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose"
import { Failure } from "../errors/failure.js"
import { discover, type IssuerRequest, issuerRequest } from "./discovery.js"

/** After how long the keys are read again, in milliseconds: when they are used, and when a token names an unknown one. */
const [keysMs, unknownKeyMs] = [600_000, 60_000]
/** How long the issuer is not asked after a failure, in milliseconds, as long as no keys of it are known. */
const failurePauseMs = 5_000

export interface IssuerKeysOptions {
  issuer: string
  /** The time that the issuer may take for an answer, in milliseconds. */
  timeoutMs: number
  /** A clock for durations, in milliseconds. */
  clock: () => number
}

/**
 * Returns the keys of an issuer, which OpenID Connect Discovery finds. They are read when the first token is verified. Throws
 * PROVIDER_UNAVAILABLE if they cannot be read, and the errors of jose about the token.
 */
export function issuerKeys({ issuer, timeoutMs, clock }: IssuerKeysOptions): JWTVerifyGetKey {
  let pausedUntil = Number.NEGATIVE_INFINITY
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined
  let opening: Promise<void> | undefined

  const unpaused = issuerRequest(timeoutMs)
  const request: IssuerRequest = async (url, { method, headers }) => {
    const retryAfterMs = pausedUntil - clock()
    if (retryAfterMs > 0) throw new Failure("PROVIDER_UNAVAILABLE", { retryAfterMs, metadata: { failure: "paused" } })
    return unpaused(url, { method, headers })
  }

  async function open(): Promise<void> {
    const { jwks_uri: address = "" } = await discover(issuer, request)
    keys = createRemoteJWKSet(new URL(address), {
      cacheMaxAge: keysMs,
      cooldownDuration: unknownKeyMs,
      timeoutDuration: timeoutMs,
      [customFetch]: request,
    })
  }

  return async (header, token) => {
    try {
      if (keys === undefined) {
        opening ??= open().finally(() => {
          opening = undefined
        })
        await opening
      }
      return await (keys as unknown as JWTVerifyGetKey)(header, token)
    } catch (error) {
      if (isAboutToken(error) || error instanceof Failure) throw error
      // Of all tokens that arrive meanwhile, whoever has sent them, none causes a request.
      const pauseMs = keys?.jwks() === undefined ? failurePauseMs : unknownKeyMs
      pausedUntil = clock() + pauseMs
      throw new Failure("PROVIDER_UNAVAILABLE", { cause: error, retryAfterMs: pauseMs, metadata: { failure: "keys" } })
    }
  }
}

function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  )
}
