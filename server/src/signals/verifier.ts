import { errors, type JWTVerifyGetKey, jwtVerify } from "jose"
import { Failure } from "../errors/failure.js"
import { signingAlgorithms } from "../provider-tokens/private-key.js"
import type { Provider, Providers } from "../provider-tokens/provider.js"
import { type IssuerKeysOptions, issuerKeys } from "./issuer-keys.js"
import { type Refusal, refused, type Signal } from "./signal.js"
import { statementOf, withoutSlash } from "./statements.js"

/**
 * How long a token may be delivered after it was issued. It is less than the time for which the ids of tokens are kept, so that
 * none can be used again.
 */
const longestAge = "12h"
/** How far the clocks of the providers may differ, in seconds. */
const clockToleranceSeconds = 60

export interface SignalVerifier {
  /** Whether the provider of a tenant may send signals. */
  accepts(tenant: string, provider: string): boolean
  /**
   * Verifies the token of a request, once: whoever asks again with the same object gets the same answer. Nothing in a token is
   * believed before its signature. Throws SIGNAL_REFUSED, PROVIDER_NOT_CONFIGURED and PROVIDER_UNAVAILABLE.
   */
  verify(tenant: string, request: SignalRequest): Promise<Signal>
}

/** A token, and the provider whose it is said to be. */
export interface SignalRequest {
  readonly provider: string
  readonly token: string
}

/** @param options.now The time in milliseconds since 1970. */
export function signalVerifier(options: {
  providers: Providers
  now: () => number
  clock: IssuerKeysOptions["clock"]
}): SignalVerifier {
  const { providers, now, clock } = options
  /** A file that is read again makes other objects. */
  const keys = new WeakMap<Provider, JWTVerifyGetKey>()
  /** An address without a key verifies a request before it becomes a call, whose handler has the same object. */
  const verified = new WeakMap<SignalRequest, { tenant: string; signal: Promise<Signal> }>()

  const accepting = (tenant: string, name: string) => {
    const provider = providers.of(tenant, name)
    const { issuer, signals: policy } = provider ?? {}
    if (provider === undefined || issuer === undefined || policy === undefined) return undefined
    return { provider, issuer, policy }
  }

  async function verifyAnew(tenant: string, { provider: name, token }: SignalRequest): Promise<Signal> {
    const found = accepting(tenant, name)
    if (found === undefined) throw new Failure("PROVIDER_NOT_CONFIGURED", { message: "it accepts no signals" })
    const { provider, issuer, policy } = found
    const { clientId, timeoutMs } = provider
    const known = keys.get(provider) ?? issuerKeys({ issuer, timeoutMs, clock })
    keys.set(provider, known)
    const { payload, protectedHeader } = await jwtVerify(token, known, {
      algorithms: [...signingAlgorithms],
      issuer: [withoutSlash(issuer), `${withoutSlash(issuer)}/`],
      audience: clientId,
      requiredClaims: ["iat", "jti"],
      maxTokenAge: longestAge,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw failureOf(error)
    })
    return { ...statementOf(payload, protectedHeader, issuer), policy }
  }

  return {
    accepts: (tenant, name) => accepting(tenant, name) !== undefined,

    verify(tenant, request) {
      const before = verified.get(request)
      if (before?.tenant === tenant) return before.signal
      const signal = verifyAnew(tenant, request)
      verified.set(request, { tenant, signal })
      return signal
    },
  }
}

/** The refusals for errors of jose; those of claims are decided by the claim. */
const refusals = new Map<string, Refusal>([
  ["ERR_JWKS_NO_MATCHING_KEY", "invalid_key"],
  ["ERR_JWKS_MULTIPLE_MATCHING_KEYS", "invalid_key"],
  ["ERR_JWS_SIGNATURE_VERIFICATION_FAILED", "invalid_key"],
  ["ERR_JOSE_ALG_NOT_ALLOWED", "invalid_key"],
  ["ERR_JOSE_NOT_SUPPORTED", "invalid_key"],
  ["ERR_JWS_INVALID", "invalid_request"],
  ["ERR_JWT_INVALID", "invalid_request"],
  ["ERR_JWT_EXPIRED", "invalid_request"],
])
const refusalsOfClaims = new Map<string, Refusal>([
  ["iss", "invalid_issuer"],
  ["aud", "invalid_audience"],
])

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(refusalsOfClaims.get(error.claim) ?? "invalid_request", `the claim ${error.claim} is wrong`, error)
  const refusal = error instanceof errors.JOSEError ? refusals.get(error.code) : undefined
  if (refusal !== undefined) return refused(refusal, texts[refusal] ?? "the token is not valid", error)
  return refused("invalid_request", "the token cannot be verified", error)
}

const texts: { [Code in Refusal]?: string } = {
  invalid_key: "the token is not signed by a key of the issuer",
  invalid_request: "the token cannot be read, or has expired",
}
