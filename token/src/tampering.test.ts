import { describe, expect, test } from "@jest/globals"
import { base64url, forge } from "../test/forge.js"
import { ours } from "../test/outcome.js"
import { byJose, derive } from "../vectors/issue.js"
import { withPart } from "../vectors/tamper.js"
import { decode, encode } from "./index.js"

const secret = "secret"
const salt = "salt"
const claims = { sub: "1", name: "Ada" }
const noMatch = { code: "NO_MATCHING_SECRET" }

/** A token of each form that Auth.js accepts. */
const forms = [
  { form: "A256CBC-HS512", token: await encode({ token: claims, secret, salt }) },
  { form: "without kid", token: await byJose(claims, { secret, salt }, { kid: undefined }) },
  { form: "A256GCM", token: await byJose(claims, { secret, salt, enc: "A256GCM" }) },
]

const octetsOf = (part: string) => Buffer.from(part, "base64url")

function flipped(octets: Uint8Array, bit: number): string {
  const copy = Buffer.from(octets)
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return base64url(copy)
}

describe.each(forms)("a token ($form)", ({ token }) => {
  test.each([
    ["IV", 2],
    ["ciphertext", 3],
    ["tag", 4],
  ] as const)("with any bit of the %s flipped: no secret matches", async (_, part) => {
    const octets = octetsOf(token.split(".")[part] as string)
    for (let bit = 0; bit < octets.length * 8; bit++) {
      const changed = withPart(token, part, () => flipped(octets, bit))
      expect({ bit, ...(await ours({ token: changed, secret, salt })) }).toEqual({ bit, ...noMatch })
    }
  })
})

test("a token with a part of another token is rejected", async () => {
  const one = await encode({ token: { sub: "1" }, secret, salt })
  const other = (await encode({ token: { sub: "2" }, secret, salt })).split(".")
  for (const part of [2, 3, 4] as const) {
    expect(await ours({ token: withPart(one, part, () => other[part] as string), secret, salt })).toEqual(noMatch)
  }
})

test("an undecryptable token with a valid tag, made with the key, is rejected exactly like one with an invalid tag", async () => {
  const { key, kid } = await derive({ secret, salt })
  const header = base64url(JSON.stringify({ alg: "dir", enc: "A256CBC-HS512", kid }))
  const errorOf = async (token: string) => decode({ token, secret, salt }).catch((error: unknown) => error)
  const wrongTag = await errorOf(
    withPart(forge({ key, header, content: "{}" }), 4, () => base64url(new Uint8Array(32))),
  )
  expect(wrongTag).toMatchObject(noMatch)
  for (const forgery of [
    { content: new Uint8Array(16), padded: true },
    { content: new Uint8Array(32).fill(17), padded: true },
    { content: "", ciphertext: new Uint8Array() },
    { content: "", ciphertext: new Uint8Array(15) },
  ]) {
    const error = await errorOf(forge({ key, header, ...forgery }))
    expect(error).toEqual(wrongTag)
    expect(Object.getOwnPropertyNames(error).toSorted()).toEqual(Object.getOwnPropertyNames(wrongTag).toSorted())
  }
})
