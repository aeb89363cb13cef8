import { createPrivateKey, type KeyObject } from "node:crypto"
import { type CryptoKey, importPKCS8 } from "jose"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { isObject, parsedJson } from "../util/json.js"

/** The algorithms of JWTs with which clients authenticate, and the type of their keys. */
const keyTypes = {
  RS256: "rsa",
  RS384: "rsa",
  RS512: "rsa",
  PS256: "rsa",
  PS384: "rsa",
  PS512: "rsa",
  ES256: "ec",
  ES384: "ec",
  ES512: "ec",
  EdDSA: "ed25519",
} as const

export type SigningAlgorithm = keyof typeof keyTypes

export const signingAlgorithms = Object.keys(keyTypes) as SigningAlgorithm[]

/** Throws InvalidValueError if a text is not a private key for an algorithm: a JWK or PEM. */
export function checkPrivateKey(text: string, algorithm: SigningAlgorithm): void {
  const type = keyTypes[algorithm]
  if (keyObjectOf(text)?.asymmetricKeyType === type) return
  throw new InvalidValueError(`must be a private key of the type ${type}, as PEM or as a JWK, for ${algorithm}`)
}

/** Imports a private key that `checkPrivateKey` accepts. */
export function importPrivateKey(text: string, algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const pem = keyObjectOf(text)?.export({ type: "pkcs8", format: "pem" })
  return importPKCS8(String(pem), algorithm)
}

function keyObjectOf(text: string): KeyObject | undefined {
  const jwk = parsedJson(text)
  try {
    return isObject(jwk) ? createPrivateKey({ key: jwk, format: "jwk" }) : createPrivateKey(text)
  } catch {
    return undefined
  }
}
