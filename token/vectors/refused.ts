import {
  base64url,
  CompactEncrypt,
  type CompactJWEHeaderParameters,
  generateKeyPair,
  SignJWT,
  UnsecuredJWT,
} from "jose"
import {
  ada,
  byAuthCore,
  byJose,
  type Claims,
  complete,
  cookie,
  derive,
  end,
  issued,
  olderSecret,
  oldSecret,
  secret,
  secureCookie,
} from "./issue.ts"
import { otherFirst, withPart } from "./tamper.ts"
import type { RefusedVector, Vector } from "./vector.ts"

const key = { secret, salt: cookie }
const gcm = { ...key, enc: "A256GCM" } as const
const claims = complete(ada, "refused")
const noKid = { kid: undefined }
const longAgo = 978_307_200
const utf8 = new TextEncoder()

type Options = Partial<Pick<Vector, "clock" | "differsFromAuthCore" | "secrets" | "salt" | "now">>

const vector =
  (code: string) =>
  (name: string, token: string, options: Options = {}): RefusedVector => {
    const { clock, differsFromAuthCore, secrets = [secret], salt = cookie, now = issued } = options
    const marks = { ...(clock && { clock }), ...(differsFromAuthCore && { differsFromAuthCore }) }
    return { name, ...marks, secrets, salt, now, token, code }
  }
const malformed = vector("TOKEN_MALFORMED")
const notAllowed = vector("TOKEN_ALGORITHM_NOT_ALLOWED")
const noMatch = vector("NO_MATCHING_SECRET")
const expired = vector("TOKEN_EXPIRED")
const notYet = vector("TOKEN_NOT_YET_VALID")

/** Changes parameters of the header without encrypting the token again. */
const inHeader = (change: Claims) => (header: string) =>
  base64url.encode(JSON.stringify({ ...JSON.parse(new TextDecoder().decode(base64url.decode(header))), ...change }))

export async function refusedVectors(): Promise<RefusedVector[]> {
  const { token: good } = await byAuthCore(ada, key)
  return [
    ...(await tampered(good)),
    ...(await wrongSecrets(good)),
    ...(await wrongTimes()),
    ...(await otherAlgorithms(good)),
    ...(await otherContents()),
    ...otherShapes(good),
  ]
}

async function tampered(good: string): Promise<RefusedVector[]> {
  const goodGcm = await byJose(claims, gcm)
  const goodNoKid = await byJose(claims, key, noKid)
  return [
    noMatch("tampered: a member added to the header", withPart(good, 0, inHeader({ x: 1 }))),
    noMatch("tampered: kid taken from the header", withPart(good, 0, inHeader(noKid))),
    noMatch("tampered: another kid in the header", withPart(good, 0, inHeader({ kid: "another" }))),
    noMatch("tampered: a kid that is not text", withPart(good, 0, inHeader({ kid: 1 }))),
    noMatch("tampered: the other enc in the header", withPart(good, 0, inHeader({ enc: "A256GCM" }))),
    malformed("tampered: the header's first character", withPart(good, 0, otherFirst)),
    malformed(
      "tampered: an encrypted key",
      withPart(good, 1, () => "AAAA"),
    ),
    noMatch("tampered: iv", withPart(good, 2, otherFirst)),
    malformed(
      "tampered: iv cut short",
      withPart(good, 2, (iv) => iv.slice(4)),
    ),
    noMatch("tampered: ciphertext", withPart(good, 3, otherFirst)),
    noMatch(
      "tampered: ciphertext cut short",
      withPart(good, 3, (text) => text.slice(4)),
    ),
    noMatch("tampered: tag", withPart(good, 4, otherFirst)),
    noMatch(
      "tampered: tag cut short",
      withPart(good, 4, (tag) => tag.slice(0, 22)),
    ),
    noMatch("tampered: A256GCM, iv", withPart(goodGcm, 2, otherFirst)),
    noMatch("tampered: A256GCM, ciphertext", withPart(goodGcm, 3, otherFirst)),
    noMatch("tampered: A256GCM, tag", withPart(goodGcm, 4, otherFirst)),
    malformed(
      "tampered: A256GCM, tag cut short",
      withPart(goodGcm, 4, (tag) => tag.slice(0, 16)),
    ),
    noMatch("tampered: ciphertext, without kid, two secrets", withPart(goodNoKid, 3, otherFirst), {
      secrets: [secret, oldSecret],
    }),
  ]
}

async function wrongSecrets(good: string): Promise<RefusedVector[]> {
  const { kid } = await derive({ secret: oldSecret, salt: cookie })
  const composed = await byAuthCore(ada, { secret: "é", salt: cookie })
  const boundary = await byAuthCore(ada, { secret: "ab", salt: "c" })
  return [
    noMatch("a wrong secret", good, { secrets: [oldSecret] }),
    noMatch("two wrong secrets", good, { secrets: [oldSecret, olderSecret] }),
    noMatch("a secret in other case", good, { secrets: [secret.toLowerCase()] }),
    noMatch("a wrong salt", good, { salt: secureCookie }),
    noMatch("A256GCM, a wrong secret", await byJose(claims, gcm), { secrets: [oldSecret] }),
    noMatch("without kid, wrong secrets", await byJose(claims, key, noKid), { secrets: [oldSecret, olderSecret] }),
    noMatch("the kid of one secret, the key of another", await byJose(claims, key, { kid }), {
      secrets: [secret, oldSecret],
    }),
    noMatch("composed and decomposed letters are two secrets", composed.token, { secrets: ["e\u0301"] }),
    noMatch("secret and salt with the boundary elsewhere", boundary.token, { secrets: ["a"], salt: "bc" }),
  ]
}

async function wrongTimes(): Promise<RefusedVector[]> {
  const { token: atIssued } = await byAuthCore(ada, key, issued - 3600, issued)
  const gcmOfOld = await byJose({ ...claims, exp: longAgo }, gcm)
  return [
    expired("expired long ago", (await byAuthCore(ada, key, longAgo, longAgo + 3600)).token),
    expired("A256GCM, expired long ago", gcmOfOld),
    expired("expired by 15 s", atIssued, { clock: "frozen", now: issued + 15 }),
    expired("expired by 16 s", atIssued, { clock: "frozen", now: issued + 16 }),
    notYet("nbf in 2100", await byJose({ ...claims, nbf: end }, key)),
    notYet("nbf in 16 s", await byJose({ ...claims, nbf: issued + 16 }, key), { clock: "frozen" }),
    malformed("exp is text", await byJose({ ...claims, exp: String(end) }, key)),
    malformed("exp is null", await byJose({ ...claims, exp: null }, key)),
    malformed("nbf is text", await byJose({ ...claims, nbf: "0" }, key)),
    malformed("iat is text", await byJose({ ...claims, iat: "0" }, key)),
  ]
}

async function otherAlgorithms(good: string): Promise<RefusedVector[]> {
  const { key: bytes } = await derive(key)
  const { publicKey: rsa } = await generateKeyPair("RSA-OAEP-256")
  const { publicKey: ec } = await generateKeyPair("ECDH-ES", { crv: "P-256" })
  const enc = "A256CBC-HS512"
  const made = (header: CompactJWEHeaderParameters, encryptingKey: Uint8Array | CryptoKey) =>
    new CompactEncrypt(utf8.encode(JSON.stringify(claims))).setProtectedHeader(header).encrypt(encryptingKey)
  const differs = { differsFromAuthCore: true } as const
  return [
    notAllowed("alg A256KW", await made({ alg: "A256KW", enc }, bytes.slice(0, 32))),
    notAllowed("alg A256GCMKW", await made({ alg: "A256GCMKW", enc }, bytes.slice(0, 32))),
    notAllowed("alg PBES2-HS512+A256KW", await made({ alg: "PBES2-HS512+A256KW", enc }, utf8.encode(secret))),
    notAllowed("alg RSA-OAEP-256", await made({ alg: "RSA-OAEP-256", enc }, rsa)),
    notAllowed("alg ECDH-ES", await made({ alg: "ECDH-ES", enc }, ec)),
    notAllowed("alg none in the header", withPart(good, 0, inHeader({ alg: "none" }))),
    notAllowed("alg DIR in the header", withPart(good, 0, inHeader({ alg: "DIR" }))),
    notAllowed("enc A128CBC-HS256", await made({ alg: "dir", enc: "A128CBC-HS256" }, bytes.slice(0, 32))),
    notAllowed("enc A192CBC-HS384", await made({ alg: "dir", enc: "A192CBC-HS384" }, bytes.slice(0, 48))),
    notAllowed("enc A128GCM", await made({ alg: "dir", enc: "A128GCM" }, bytes.slice(0, 16))),
    notAllowed("enc A192GCM", await made({ alg: "dir", enc: "A192GCM" }, bytes.slice(0, 24))),
    notAllowed("enc none in the header", withPart(good, 0, inHeader({ enc: "none" }))),
    notAllowed("zip", await byJose(claims, key, { zip: "DEF" }), differs),
    notAllowed("zip, without kid", await byJose(claims, key, { zip: "DEF", ...noKid }), differs),
    notAllowed("an unknown zip in the header", withPart(good, 0, inHeader({ zip: "GZIP" }))),
    notAllowed("crit in the header", withPart(good, 0, inHeader({ crit: ["x"], x: 1 }))),
    malformed("no alg in the header", withPart(good, 0, inHeader({ alg: undefined }))),
    malformed("no enc in the header", withPart(good, 0, inHeader({ enc: undefined }))),
  ]
}

async function otherContents(): Promise<RefusedVector[]> {
  const signed = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(utf8.encode(secret))
  return [
    malformed("a signed JWT", signed),
    malformed("an unsecured JWT", new UnsecuredJWT(claims).encode()),
    malformed("a nested signed JWT", await byJose(utf8.encode(signed), key, { cty: "JWT" })),
    malformed("encrypted: a list", await byJose([], key)),
    malformed("encrypted: text", await byJose("claims", key)),
    malformed("encrypted: a number", await byJose(1, key)),
    malformed("encrypted: null", await byJose(null, key)),
    malformed("encrypted: nothing", await byJose(new Uint8Array(), key)),
    malformed("encrypted: not JSON", await byJose(utf8.encode("{"), key)),
    malformed("encrypted: not UTF-8", await byJose(new Uint8Array([0x22, 0xff, 0x22]), key)),
  ]
}

function otherShapes(good: string): RefusedVector[] {
  return [
    malformed(
      "an empty header",
      withPart(good, 0, () => ""),
    ),
    malformed(
      "an empty iv",
      withPart(good, 2, () => ""),
    ),
    noMatch(
      "an empty ciphertext",
      withPart(good, 3, () => ""),
    ),
    malformed(
      "an empty tag",
      withPart(good, 4, () => ""),
    ),
    malformed("five empty parts", "...."),
    malformed("four parts", good.split(".").slice(0, 4).join(".")),
    malformed("six parts", `${good}.AAAA`),
    malformed(
      "not base64url",
      withPart(good, 3, (text) => `*${text.slice(1)}`),
    ),
    malformed(
      "a header that is a list",
      withPart(good, 0, () => base64url.encode("[]")),
    ),
    malformed("text", "undefined"),
    malformed("a space", " "),
    malformed("unicode text", "🍪.🍪.🍪.🍪.🍪"),
  ]
}
