import { createDecipheriv, createHmac } from "node:crypto"
import { afterEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { failure } from "../test/failure.js"
import { base64url, forge } from "../test/forge.js"
import { type A256CbcHs512, a256cbcHs512 } from "./a256cbc-hs512.js"
import type { Encrypted } from "./encrypted.js"
import { parseJwe } from "./jwe.js"

const hex = (text: string) => new Uint8Array(Buffer.from(text.replaceAll(/\s/g, ""), "hex"))
const ascii = (text: string) => new TextEncoder().encode(text)

// RFC 7518, appendix B.3.
const key = hex(`
  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f
  20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f 30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f`)
const plaintext = ascii(
  "A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without inconvenience",
)
const published: Encrypted = {
  aad: ascii("The second principle of Auguste Kerckhoffs"),
  iv: hex("1a f3 8c 2d c2 b9 6f fd d8 66 94 09 23 41 bc 04"),
  ciphertext: hex(`
    4a ff aa ad b7 8c 31 c5 da 4b 1b 59 0d 10 ff bd 3d d8 d5 d3 02 42 35 26 91 2d a0 37 ec bc c7 bd
    82 2c 30 1d d6 7c 37 3b cc b5 84 ad 3e 92 79 c2 e6 d1 2a 13 74 b7 7f 07 75 53 df 82 94 10 44 6b
    36 eb d9 70 66 29 6a e6 42 7e a7 5c 2e 08 46 a1 1a 09 cc f5 37 0d c8 0b fe cb ad 28 c7 3f 09 b3
    a3 b7 5e 66 2a 25 94 41 0a e4 96 b2 e2 e6 60 9e 31 e6 e0 2c c8 37 f0 53 d2 1f 37 ff 4f 51 95 0b
    be 26 38 d0 9d d7 a4 93 09 30 80 6d 07 03 b1 f6`),
  tag: hex("4d d3 b4 c0 88 a7 f4 5c 21 68 39 64 5b 20 12 bf 2e 62 69 a8 c5 6a 81 6d bc 1b 26 77 61 95 5b c5"),
}

const octets = (limits: fc.IntArrayConstraints) => fc.uint8Array(limits).map((array) => new Uint8Array(array))

afterEach(() => {
  jest.restoreAllMocks()
})

describe("A256CBC-HS512", () => {
  test("decrypts the test case of RFC 7518", async () => {
    expect(await (await a256cbcHs512(key)).decrypt(published)).toEqual(plaintext)
  })

  test("encrypts as RFC 7518 has it, by Node's reckoning", async () => {
    await fc.assert(
      fc.asyncProperty(octets({ minLength: 64, maxLength: 64 }), octets({}), octets({}), async (key, content, aad) => {
        const { iv, ciphertext, tag } = await (await a256cbcHs512(key)).encrypt(content, aad)
        const length = Buffer.alloc(8)
        length.writeBigUInt64BE(BigInt(aad.length * 8))
        const mac = createHmac("sha512", key.subarray(0, 32)).update(aad).update(iv).update(ciphertext).update(length)
        expect(Buffer.from(tag)).toEqual(mac.digest().subarray(0, 32))
        const decipher = createDecipheriv("aes-256-cbc", key.subarray(32), iv)
        expect(Buffer.concat([decipher.update(ciphertext), decipher.final()])).toEqual(Buffer.from(content))
      }),
      { numRuns: 200 },
    )
  })

  test("draws 16 new random octets for the IV each time", async () => {
    const random = jest.spyOn(crypto, "getRandomValues")
    const cipher = await a256cbcHs512(key)
    const ivs = new Set<string>()
    for (let count = 0; count < 1000; count++) {
      const { iv } = await cipher.encrypt(plaintext, published.aad)
      expect(random.mock.results.at(-1)?.value).toBe(iv)
      expect(iv).toHaveLength(16)
      ivs.add(base64url(iv))
    }
    expect(ivs.size).toBe(1000)
    expect(random).toHaveBeenCalledTimes(1000)
  })

  test("takes WebCrypto's keys so that they do not come out again", async () => {
    const imported = jest.spyOn(crypto.subtle, "importKey")
    await a256cbcHs512(key)
    const keys = (await Promise.all(imported.mock.results.map(({ value }) => value))) as CryptoKey[]
    expect(keys.map(({ extractable, usages }) => ({ extractable, usages }))).toEqual([
      { extractable: false, usages: ["sign"] },
      { extractable: false, usages: ["encrypt", "decrypt"] },
    ])
  })
})

describe("what is not genuine", () => {
  const changed = (name: keyof Encrypted, at: number): Encrypted => ({
    ...published,
    [name]: published[name].map((octet, index) => (index === at ? octet ^ 0x80 : octet)),
  })

  test.each<keyof Encrypted>(["aad", "iv", "ciphertext", "tag"])("%s changed in any octet: no answer", async (name) => {
    const cipher = await a256cbcHs512(key)
    for (let at = 0; at < published[name].length; at++) expect(await cipher.decrypt(changed(name, at))).toBeUndefined()
  })

  test("is never decrypted", async () => {
    const cipher = await a256cbcHs512(key)
    const decrypted = jest.spyOn(crypto.subtle, "decrypt")
    for (const name of ["aad", "iv", "ciphertext", "tag"] as const) {
      for (const at of [0, 15, published[name].length - 1]) await cipher.decrypt(changed(name, at))
    }
    await (await a256cbcHs512(key.toReversed())).decrypt(published)
    expect(decrypted).not.toHaveBeenCalled()
    await cipher.decrypt(published)
    expect(decrypted).toHaveBeenCalledTimes(1)
  })

  test("octets moved between the parts, so that their concatenation is the same: no answer", async () => {
    const { aad, iv, ciphertext, tag } = published
    const moved = { aad: concat(aad, iv), iv: ciphertext.slice(0, 16), ciphertext: ciphertext.slice(16), tag }
    expect(await (await a256cbcHs512(key)).decrypt(moved)).toBeUndefined()
  })

  test("a tag of any other length: no answer, and none at all is malformed", async () => {
    const cipher = await a256cbcHs512(key)
    const { iv, ciphertext, aad } = published
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(aad.length * 8))
    const mac = createHmac("sha512", key.subarray(0, 32)).update(aad).update(iv).update(ciphertext).update(length)
    const whole = new Uint8Array(mac.digest())
    for (let size = 1; size <= 64; size++) {
      const read = await cipher.decrypt({ ...published, tag: whole.slice(0, size) })
      expect(read).toEqual(size === 32 ? plaintext : undefined)
    }
    expect(await failure(cipher.decrypt({ ...published, tag: new Uint8Array() }))).toMatchObject(malformed)
  })

  test("an IV of any other length is malformed", async () => {
    const cipher = await a256cbcHs512(key)
    for (let size = 0; size <= 33; size++) {
      const iv = concat(published.iv, new Uint8Array(17)).slice(0, size)
      const error = await failure(cipher.decrypt({ ...published, iv }))
      if (size === 16) expect(error).toBeUndefined()
      else expect(error).toMatchObject(malformed)
    }
  })
})

describe("a right tag over what cannot be decrypted looks like a wrong tag", () => {
  const read = async (cipher: A256CbcHs512, forgery: Partial<Parameters<typeof forge>[0]>) => {
    const header = base64url(JSON.stringify({ alg: "dir", enc: "A256CBC-HS512" }))
    return cipher.decrypt(parseJwe(forge({ key, header, content: "", ...forgery })))
  }

  test.each([0, 17, 255, 2, 16])("the last octet of the padding is %i", async (last) => {
    const content = new Uint8Array(16).fill(7)
    content[15] = last
    expect(await read(await a256cbcHs512(key), { content, padded: true })).toBeUndefined()
  })

  test.each([0, 1, 15, 17, 31])("%i octets of ciphertext", async (size) => {
    expect(await read(await a256cbcHs512(key), { ciphertext: new Uint8Array(size) })).toBeUndefined()
  })

  test("the test above would see the content", async () => {
    const content = new Uint8Array(16).fill(16)
    expect(await read(await a256cbcHs512(key), { content, padded: true })).toEqual(new Uint8Array())
  })
})

const malformed = { code: "TOKEN_MALFORMED" }

function concat(one: Uint8Array, other: Uint8Array) {
  return new Uint8Array([...one, ...other])
}
