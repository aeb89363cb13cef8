// Signatures of files as `cosign sign-blob` makes them: ECDSA on P-256 over SHA-256, in base64.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"

/**
 * Returns the key of a release: AUTHWIRE_RELEASE_KEY, in PEM, which AUTHWIRE_RELEASE_KEY_PASSWORD decrypts if it is
 * encrypted. Unless `isFinal`, returns a new key that is lost afterwards.
 */
export function releaseKey(env, isFinal) {
  if (!isFinal) return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
  const pem = env.AUTHWIRE_RELEASE_KEY
  if (!pem) throw new Error("AUTHWIRE_RELEASE_KEY: is required, a private key in PEM")
  const key = createPrivateKey({ key: pem, passphrase: env.AUTHWIRE_RELEASE_KEY_PASSWORD })
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1")
    throw new Error("AUTHWIRE_RELEASE_KEY: must be a key of ECDSA on the curve P-256")
  return key
}

/** Returns the public part of a key in PEM, as cosign.pub. */
export function publicPem(key) {
  return createPublicKey(key).export({ type: "spki", format: "pem" })
}

/** Writes the signature of a file beside it. */
export function signFile(file, key) {
  writeFileSync(`${file}.sig`, sign("sha256", readFileSync(file), key).toString("base64"))
}

/** Whether the signature beside a file is that of its content. Throws if there is none. */
export function isSigned(file, publicKey) {
  const signature = Buffer.from(readFileSync(`${file}.sig`, "utf8"), "base64")
  return verify("sha256", readFileSync(file), publicKey, signature)
}
