import { readFileSync } from "node:fs"
import { inspect } from "node:util"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { base64url } from "jose"
import { failure } from "../test/failure.js"
import { otherFirst, withPart } from "../vectors/tamper.js"
import type { Vectors } from "../vectors/vector.js"
import * as tokenModule from "./index.js"
import { derivedKey } from "./jwe/derived-key.js"

const { decode, encode, getToken } = tokenModule

// Secrets, tokens, cookies and claims may leave this package only in its results.

const secret = "marked-secret-5f0d3e"
const salt = "marked-salt-8c21aa"
const claim = "marked-claim-77b9e4"
const levels = ["debug", "error", "info", "log", "trace", "warn", "dir"] as const

let printed: unknown[][] = []
beforeEach(() => {
  jest.replaceProperty(process, "env", {})
  printed = []
  for (const level of levels)
    jest.spyOn(console, level).mockImplementation((...all: unknown[]) => void printed.push(all))
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, "write").mockImplementation((...all: unknown[]) => printed.push(all) > 0)
  }
})
afterEach(() => {
  jest.restoreAllMocks()
})

/** Returns every text that a logger could make of a value. */
function everything(value: unknown): string {
  const error = value as Partial<Error>
  const shown = [String(value), inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true })]
  return [...shown, JSON.stringify(value), JSON.stringify(error?.cause), error?.stack, error?.message].join("\n")
}

/** Fails if the text contains one of the words or a 12-character part of one. */
function expectNone(text: string, words: string[]) {
  for (const word of words) {
    for (let at = 0; at + 12 <= word.length; at += 4) expect(text).not.toContain(word.slice(at, at + 12))
  }
}

test("no error contains any part of a secret, a token or claims", async () => {
  const token = await encode({ secret, salt, token: { claim } })
  const expired = await encode({ secret, salt, token: { claim }, maxAge: -100 })
  const early = await encode({ secret, salt, token: { claim, nbf: 9_999_999_999 } })
  const words = [secret, salt, claim, token, expired, early]
  const calls: (() => Promise<unknown>)[] = [
    () => decode({ token, secret: `${secret}2`, salt }),
    () => decode({ token, secret, salt: `${salt}2` }),
    () => decode({ token: expired, secret, salt }),
    () => decode({ token: early, secret, salt }),
    () => decode({ token: withPart(token, 4, otherFirst), secret, salt }),
    () => decode({ token: `x${token}`, secret, salt }),
    () => decode({ token: `${token}.x`, secret, salt }),
    async () => decode({ token: await encode({ secret, salt, token: { claim, nbf: claim } }), secret, salt }),
    () => decode({ token, secret, salt: salt.repeat(100) }),
    () => decode({ token, secret, salt: { [salt]: salt } as unknown as string }),
    () => decode({ token, secret: { [secret]: secret } as unknown as string, salt }),
    () => decode({ token, secret: [{ [secret]: secret }] as unknown as string[], salt }),
    () => decode({ token, secret: "", salt }),
    () => encode({ token: { claim }, secret: "", salt }),
    () => encode({ token: claim as unknown as object, secret, salt }),
    () => encode({ token: { claim: 1n, [claim]: claim }, secret, salt }),
    () => encode({ token: { claim }, secret, salt: salt.repeat(100) }),
    () => encode({ token: { claim }, secret, salt, maxAge: claim as unknown as number }),
    () => getToken({ req: { headers: { cookie: `${salt}=${token}` } }, cookieName: salt }),
    () => getToken({ req: undefined as never, secret, salt }),
  ]
  for (const call of calls) {
    const error = await failure(call())
    expect(error).toBeInstanceOf(Error)
    expectNone(everything(error), words)
  }
  expect(printed).toEqual([])
})

test("the error of a rejected vector contains no part of its token", async () => {
  const { refused }: Vectors = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8"))
  for (const { token, secrets, salt } of refused) {
    const error = await failure(decode({ token, secret: secrets, salt }))
    if (error !== undefined) expectNone(everything(error), [token, ...secrets, "ada@example.com", "Ada Lovelace"])
  }
  expect(printed).toEqual([])
})

test("getToken prints nothing, and passes only codes to a logger", async () => {
  const token = await encode({ secret, salt, token: { claim } })
  const req = { headers: { cookie: `${salt}=${token}; ${salt}.0=stale`, authorization: `Bearer ${token}` } }
  await getToken({ req, secret, salt, cookieName: salt })
  await getToken({ req, secret: "another", salt, cookieName: salt })
  await getToken({ req, secret, salt, cookieName: salt, raw: true })
  expect(printed).toEqual([])
  await getToken({ req, secret: "another", salt, cookieName: salt, logger: console })
  expect(printed.length).toBeGreaterThan(0)
  expectNone(everything(printed), [secret, salt, claim, token])
})

test("no export reveals secrets or keys that were used", async () => {
  await encode({ secret, salt, token: { claim } })
  const { key } = await derivedKey(secret, "A256CBC-HS512", { salt })
  const words = [secret, salt, base64url.encode(key), Buffer.from(key).toString("hex"), inspect(key).slice(18, 60)]
  expectNone(everything({ ...tokenModule }), words)
  for (const exported of Object.values(tokenModule)) expectNone(everything(exported), words)
})
