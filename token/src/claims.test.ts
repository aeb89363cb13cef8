import { afterEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { freeze } from "../test/clock.js"
import { content, encs, expectAsJose, headerText, now, read, token, values } from "../test/strange-token.js"

// Compares the claims that decode accepts with jose's jwtDecrypt, with the tolerance of Auth.js.

afterEach(() => {
  jest.useRealTimers()
})

const json = fc.oneof(fc.constantFrom(...values), fc.json({ maxDepth: 2 }))

describe("the content", () => {
  test.each<[string, string | Uint8Array]>([
    ["nothing", ""],
    ["no object", "[]"],
    ["null", "null"],
    ["with a byte order mark", `\ufeff${content}`],
    ["with white space", ` \n${content}\t`],
    ["not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["with a member twice", '{"sub":"1","sub":"2"}'],
    ["with exp twice", `{"exp":1,"exp":${now}}`],
    ["with __proto__", '{"__proto__":{"exp":1},"constructor":1}'],
    ["with times beyond all numbers", '{"exp":1e999,"nbf":-1e999,"iat":1e999}'],
    ["an expiry beyond all numbers", '{"exp":-1e999}'],
    ["cut off", content.slice(0, -1)],
  ])("that is %s", async (_, content) => {
    freeze(now)
    for (const enc of encs) await expectAsJose(token(headerText({}, enc), { enc, content }))
  })

  test.each([100, 20_000, 300_000])("that is nested %i deep", async (depth) => {
    const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`
    expect(await read(token(headerText({}), { content: `{"deep":${deep}}` }))).toHaveProperty("claims.deep")
  })

  test.each([20_000, 300_000])(
    "whose audience, repeated in the header, is nested %i deep is malformed",
    async (depth) => {
      const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`
      const outcome = await read(token(headerText({ aud: deep }), { content: `{"aud":${deep}}` }))
      expect(outcome).toEqual({ code: "TOKEN_MALFORMED" })
    },
  )

  test("with any times, at any moment", async () => {
    const near = fc.integer({ min: -20, max: 20 }).map((seconds) => `${now + seconds}`)
    const time = fc.option(
      fc.oneof(
        near,
        near,
        near,
        near.map((text) => `${text}.5`),
        json,
      ),
      { nil: undefined },
    )
    const moment = fc.integer({ min: 0, max: 999 })
    await fc.assert(
      fc.asyncProperty(time, time, time, moment, async (exp, nbf, iat, milliseconds) => {
        freeze(now + milliseconds / 1000)
        const times = Object.entries({ exp, nbf, iat }).filter(([, value]) => value !== undefined)
        const content = `{${times.map(([name, value]) => `"${name}":${value}`).join(",")}}`
        await expectAsJose(token(headerText({}), { content }))
      }),
      { numRuns: 700 },
    )
  })

  test("with claims that the header repeats, or contradicts", async () => {
    const claim = fc.option(json, { nil: undefined })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("iss", "sub", "aud"),
        claim,
        claim,
        fc.boolean(),
        async (name, one, two, same) => {
          const content = one === undefined ? "{}" : `{"${name}":${one}}`
          await expectAsJose(token(headerText({ [name]: same ? one : two }), { content }))
        },
      ),
      { numRuns: 300 },
    )
  })
})
