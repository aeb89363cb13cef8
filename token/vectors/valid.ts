import {
  ada,
  byAuthCore,
  byJose,
  type Claims,
  complete,
  cookie,
  inGroups,
  issued,
  olderSecret,
  oldSecret,
  secret,
  secureCookie,
} from "./issue.ts"
import type { ValidVector, Vector } from "./vector.ts"

const unicode = {
  name: "Ἀδα Λαβλεϊς – Ада – 愛達 – آدا",
  email: "ada@bücher.example",
  emoji: "👩🏽‍💻🍪",
  composed: "é",
  decomposed: "e\u0301",
  control: 'tab\tnewline\nquote"backslash\\null\u0000',
  "ключ 🔑": "значение",
}

const kinds = {
  sub: "1",
  text: "",
  truth: true,
  untruth: false,
  nothing: null,
  integer: 42,
  negative: -7,
  fraction: 0.125,
  large: 9_007_199_254_740_991,
  list: [1, "two", [3], { four: 4 }, null],
  object: { deep: { deeper: { deepest: "here" } }, empty: {}, none: [] },
}

interface Options {
  secrets?: string[]
  /** The secret that encrypts the token. Default: the last one. */
  by?: string
  salt?: string
  enc?: "A256GCM"
  header?: Claims
  marks?: Pick<Vector, "differsFromAuthCore">
}

async function core(name: string, claims: Claims, options: Options = {}): Promise<ValidVector> {
  const { secrets = [secret], by = secrets.at(-1) as string, salt = cookie } = options
  const made = await byAuthCore(claims, { secret: by, salt })
  return { name, secrets, salt, now: issued, token: made.token, payload: made.claims }
}

async function jose(name: string, claims: Claims, options: Options = {}): Promise<ValidVector> {
  const { secrets = [secret], by = secrets.at(-1) as string, enc, header, marks } = options
  const token = await byJose(claims, { secret: by, salt: cookie, ...(enc && { enc }) }, header)
  return { name, ...marks, secrets, salt: cookie, now: issued, token, payload: claims }
}

const differs = { differsFromAuthCore: true } as const
const noKid = { kid: undefined }
const two = [secret, oldSecret]
const three = [secret, oldSecret, olderSecret]

export async function validVectors(): Promise<ValidVector[]> {
  return [
    await core("the claims of a sign-in", ada),
    await core("the salt of a secure cookie", ada, { salt: secureCookie }),
    await core("no claims", {}),
    await core("claims of every JSON kind", kinds),
    await core("unicode claims", unicode),
    await core("claims of 4 KB", inGroups(90)),
    await core("a unicode secret", ada, { secrets: ["пароль-🔐-e\u0301"] }),
    await core("a unicode salt", ada, { salt: "sälz-🍪-cookie" }),
    await core("a short secret", ada, { secrets: ["s"] }),
    await core("a long secret", ada, { secrets: [secret.repeat(20)] }),
    await core("rotation: of the new secret", ada, { secrets: two, by: secret }),
    await core("rotation: of the old secret", ada, { secrets: two }),
    await core("rotation: of the third secret", ada, { secrets: three }),
    await jose("A256GCM", complete(ada, "gcm"), { enc: "A256GCM" }),
    await jose("A256GCM, rotation: of the old secret", complete(ada, "gcm-old"), { enc: "A256GCM", secrets: two }),
    await jose("without kid", complete(ada, "no-kid"), { header: noKid }),
    await jose("without kid, rotation: of the new secret", complete(ada, "no-kid-new"), {
      header: noKid,
      secrets: two,
      by: secret,
    }),
    await jose("without kid, rotation: of the third secret", complete(ada, "no-kid-third"), {
      header: noKid,
      secrets: three,
      marks: differs,
    }),
    await jose("A256GCM without kid, rotation: of the old secret", complete(ada, "gcm-no-kid-old"), {
      enc: "A256GCM",
      header: noKid,
      secrets: two,
      marks: differs,
    }),
    await jose("a header with typ and an unknown parameter", complete(ada, "typ"), { header: { typ: "JWT", x: "y" } }),
    await jose("without exp", { ...ada, iat: issued, jti: "no-exp" }),
    await jose("nbf in the past", { ...complete(ada, "nbf-past"), nbf: issued }),
    await expiredBy14Seconds(),
    { ...(await jose("nbf in 14 s", { ...complete(ada, "nbf-14"), nbf: issued + 14 })), clock: "frozen" },
  ]
}

async function expiredBy14Seconds(): Promise<ValidVector> {
  const { token, claims } = await byAuthCore(ada, { secret, salt: cookie }, issued - 3600, issued)
  const now = issued + 14
  return { name: "expired by 14 s", clock: "frozen", secrets: [secret], salt: cookie, now, token, payload: claims }
}
