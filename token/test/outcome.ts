import * as core from "@auth/core/jwt"
import { errors, type JWTDecryptGetKey, jwtDecrypt } from "jose"
import { decode, NoMatchingSecret, TokenError } from "../src/index.js"
import type { JWTDecodeParams } from "../src/types.js"
import { derive } from "../vectors/issue.js"

/** What decoding comes to. */
export type Outcome = { claims: unknown } | { code: string }

/** What decode makes of a token. */
export async function ours(params: JWTDecodeParams): Promise<Outcome> {
  try {
    return { claims: await decode(params) }
  } catch (error) {
    if (error instanceof TokenError) return { code: error.code }
    throw error
  }
}

/** What @auth/core's decode makes of it, and the code for that. */
export async function authCores(params: JWTDecodeParams): Promise<Outcome> {
  try {
    return { claims: await core.decode(params) }
  } catch (error) {
    if (error instanceof Error && error.message === "no matching decryption secret")
      return { code: "NO_MATCHING_SECRET" }
    return { code: codeOf(error) }
  }
}

const rules = {
  keyManagementAlgorithms: ["dir"],
  contentEncryptionAlgorithms: ["A256CBC-HS512", "A256GCM"],
  clockTolerance: 15,
}

/** What jose's jwtDecrypt makes of it with one secret, and the code for that. */
export async function joses(token: string, secret: string, salt: string): Promise<Outcome> {
  const keyOf: JWTDecryptGetKey = async ({ enc, kid }) => {
    const derived = await derive({ secret, salt, ...(enc === "A256GCM" && { enc: "A256GCM" }) })
    if (kid !== undefined && kid !== derived.kid) throw new NoMatchingSecret()
    return derived.key
  }
  try {
    return { claims: (await jwtDecrypt(token, keyOf, rules)).payload }
  } catch (error) {
    return { code: codeOf(error) }
  }
}

function codeOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "TOKEN_EXPIRED"
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === "nbf" && error.reason === "check_failed") {
    return "TOKEN_NOT_YET_VALID"
  }
  if (error instanceof errors.JWEDecryptionFailed || error instanceof NoMatchingSecret) return "NO_MATCHING_SECRET"
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return "TOKEN_ALGORITHM_NOT_ALLOWED"
  }
  if (error instanceof errors.JOSEError) return "TOKEN_MALFORMED"
  throw error
}
