import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { base64url, forge } from "../test/forge.js"
import { joses, ours } from "../test/outcome.js"
import { byJose, derive } from "../vectors/issue.js"
import { withPart } from "../vectors/tamper.js"
import { decode, encode } from "./index.js"

const secret = "secret"
const salt = "salt"
const claims = { sub: "1", name: "Ada" }
const noMatch = { code: "NO_MATCHING_SECRET" }
const malformed = { code: "TOKEN_MALFORMED" }

// typ has no effect on decoding, so a flipped bit in it changes only the authenticated data.
const unnamed = { kid: undefined, typ: "JWT" }

/** Creates a token of each form that Auth.js accepts. */
async function tokens() {
  return [
    { form: "A256CBC-HS512", iv: 16, tag: 32, token: await encode({ token: claims, secret, salt }) },
    { form: "without kid", iv: 16, tag: 32, token: await byJose(claims, { secret, salt }, unnamed) },
    { form: "A256GCM", iv: 12, tag: 16, token: await byJose(claims, { secret, salt, enc: "A256GCM" }) },
  ]
}
const forms = await tokens()

const octetsOf = (part: string) => Buffer.from(part, "base64url")

function flipped(octets: Uint8Array, bit: number): string {
  const copy = Buffer.from(octets)
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return base64url(copy)
}

describe.each(forms)("a token ($form)", ({ token, iv, tag }) => {
  test("unchanged is accepted", async () => {
    expect(await ours({ token, secret, salt })).toMatchObject({ claims })
  })

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

  test("with any bit of the header flipped: always rejected, with the same outcome as jose", async () => {
    const octets = octetsOf(token.split(".")[0] as string)
    const codes = new Set<string>()
    for (let bit = 0; bit < octets.length * 8; bit++) {
      const changed = withPart(token, 0, () => flipped(octets, bit))
      const outcome = await ours({ token: changed, secret, salt })
      if (!("code" in outcome)) throw new Error(`read with bit ${bit} flipped`)
      expect({ bit, ...outcome }).toEqual({ bit, ...(await joses(changed, secret, salt)) })
      codes.add(outcome.code)
    }
    // A flipped bit changes a name or a value, or makes the JSON invalid.
    expect([...codes].toSorted()).toEqual(["NO_MATCHING_SECRET", "TOKEN_ALGORITHM_NOT_ALLOWED", "TOKEN_MALFORMED"])
  })

  test("with any bit of its text flipped: accepted only if the bit is unused in base64url, as in jose", async () => {
    const text = Buffer.from(token)
    const ends = new Set(token.split(".").map((_, part, parts) => parts.slice(0, part + 1).join(".").length - 1))
    for (let bit = 0; bit < text.length * 8; bit++) {
      const changed = Buffer.from(flipped(text, bit), "base64url").toString("latin1")
      const outcome = await ours({ token: changed, secret, salt })
      if (!ends.has(bit >> 3)) expect({ bit, ...outcome }).toEqual({ bit, code: expect.any(String) })
      expect({ bit, ...outcome }).toEqual({ bit, ...(await joses(changed, secret, salt)) })
    }
  })

  test("with an encrypted key of any kind is malformed", async () => {
    for (const key of ["AA", "AAAA", base64url(new Uint8Array(32)), "*", "=", " ", "A"]) {
      expect(await ours({ token: withPart(token, 1, () => key), secret, salt })).toEqual(malformed)
    }
  })

  test("with a shortened or extended tag or IV is rejected", async () => {
    for (let size = 0; size <= 48; size++) {
      const resized = (part: string) => base64url(Buffer.concat([octetsOf(part), Buffer.alloc(48)]).subarray(0, size))
      for (const [part, right] of [
        [2, iv],
        [4, tag],
      ] as const) {
        const changed = withPart(token, part, resized)
        const outcome = await ours({ token: changed, secret, salt })
        if (size === right) expect(outcome).toMatchObject({ claims })
        else expect({ size, part, ...outcome }).toEqual({ size, part, ...(await joses(changed, secret, salt)) })
        if (size !== right) expect(outcome).toHaveProperty("code")
      }
    }
  })

  test("with the parts in any other order is rejected", async () => {
    const parts = token.split(".")
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }), async (order) => {
        fc.pre(order.some((part, index) => part !== index))
        const changed = order.map((part) => parts[part]).join(".")
        expect(await ours({ token: changed, secret, salt })).toHaveProperty("code")
      }),
    )
  })
})

test("a token with any flipped bit is never accepted", async () => {
  const token = fc.record({
    claims: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }),
    secret: fc.string({ minLength: 1 }),
    salt: fc.string(),
    enc: fc.constantFrom("A256CBC-HS512", "A256GCM"),
    part: fc.constantFrom(0, 2, 3, 4),
    position: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(token, async ({ claims, secret, salt, enc, part, position }) => {
      const token =
        enc === "A256GCM" ? await byJose(claims, { secret, salt, enc }) : await encode({ token: claims, secret, salt })
      const octets = octetsOf(token.split(".")[part] as string)
      const changed = withPart(token, part as 0 | 2 | 3 | 4, () => flipped(octets, position % (octets.length * 8)))
      const outcome = await ours({ token: changed, secret, salt })
      expect(outcome).toEqual(part === 0 ? await joses(changed, secret, salt) : noMatch)
      expect(outcome).toHaveProperty("code")
    }),
    { numRuns: 500 },
  )
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
