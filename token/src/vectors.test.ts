import { readFileSync } from "node:fs"
import * as core from "@auth/core/jwt"
import { afterAll, describe, expect, jest, test } from "@jest/globals"
import { freeze } from "../test/clock.js"
import { failure } from "../test/failure.js"
import type { Vectors } from "../vectors/vector.js"
import { decode, encode, getToken, requestHeaders } from "./index.js"

const vectors: Vectors = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8"))

const frozen = ({ now }: { now: number }) => freeze(now)

afterAll(() => {
  jest.useRealTimers()
})

describe.each(vectors.valid)("valid: $name", (vector) => {
  const { token, secrets: secret, salt, payload, differsFromAuthCore } = vector

  test("decode accepts it", async () => {
    frozen(vector)
    expect(await decode({ token, secret, salt })).toEqual(payload)
  })

  test(`@auth/core ${differsFromAuthCore ? "rejects" : "accepts"} it`, async () => {
    frozen(vector)
    const read = core.decode({ token, secret, salt })
    if (differsFromAuthCore) await expect(read).rejects.toThrow()
    else expect(await read).toEqual(payload)
  })

  test("@auth/core decodes the token that encode issues with its claims", async () => {
    frozen(vector)
    const again = await encode({ token: payload, secret, salt, maxAge: 60 })
    const claims = await core.decode({ token: again, secret, salt })
    const { now: iat } = vector
    const jti = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(claims).toEqual({ ...payload, iat, exp: iat + 60, jti })
    expect(claims?.jti).not.toBe(payload.jti)
  })
})

describe.each(vectors.refused)("refused: $name", (vector) => {
  const { token, secrets: secret, salt, code, differsFromAuthCore } = vector

  test(`decode throws ${code}`, async () => {
    frozen(vector)
    expect(await failure(decode({ token, secret, salt }))).toMatchObject({ code })
  })

  test("getToken returns null", async () => {
    frozen(vector)
    // Percent-encoded, because a token may contain characters that a header cannot contain.
    const authorization = `Bearer ${encodeURIComponent(token)}`
    expect(await getToken({ req: { headers: { authorization } }, secret, salt })).toBeNull()
  })

  test(`@auth/core ${differsFromAuthCore ? "accepts" : "rejects"} it`, async () => {
    frozen(vector)
    const error = await failure(core.decode({ token, secret, salt }))
    if (differsFromAuthCore) expect(error).toBeUndefined()
    else expect(error).toBeInstanceOf(Error)
  })
})

describe.each(vectors.requests)("request: $name", (vector) => {
  const { headers, secrets: secret, payload, differsFromAuthCore, raw = false } = vector
  const { cookieName, secureCookie, salt } = vector
  const options = {
    secret,
    raw,
    ...(cookieName !== undefined && { cookieName }),
    ...(secureCookie !== undefined && { secureCookie }),
    ...(salt !== undefined && { salt }),
  }
  // Headers joins Cookie fields with "; ", as HTTP/2 requires.
  const joined = new Headers(headers.map(([name, value]): [string, string] => [name, value]))

  test.each([
    ["a list", () => ({ headers: requestHeaders(headers) })],
    ["Headers", () => ({ headers: joined })],
    ["a Request", () => new Request("https://app.example", { headers: joined })],
    ["a record", () => ({ headers: Object.fromEntries(joined) })],
  ])("getToken, from %s", async (_, req) => {
    frozen(vector)
    expect(await getToken({ ...options, req: req() })).toEqual(payload)
  })

  test(`@auth/core ${differsFromAuthCore ? "returns another result" : "returns the same"}`, async () => {
    frozen(vector)
    const found = await core.getToken({ ...options, req: { headers: joined } })
    if (differsFromAuthCore) expect(found).not.toEqual(payload)
    else expect(found).toEqual(payload)
  })
})

test("the vectors cover every code except MISSING_SECRET", () => {
  expect([...new Set(vectors.refused.map(({ code }) => code))].toSorted()).toEqual([
    "NO_MATCHING_SECRET",
    "TOKEN_ALGORITHM_NOT_ALLOWED",
    "TOKEN_EXPIRED",
    "TOKEN_MALFORMED",
    "TOKEN_NOT_YET_VALID",
  ])
})

test("the names of vectors are unique", () => {
  for (const list of [vectors.valid, vectors.refused, vectors.requests]) {
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length)
  }
})

test("vectors that need no frozen clock are correct at the present time", async () => {
  jest.useRealTimers()
  for (const { clock, token, secrets: secret, salt, payload } of vectors.valid) {
    if (clock !== "frozen") expect(await decode({ token, secret, salt })).toEqual(payload)
  }
  for (const { clock, token, secrets: secret, salt, code } of vectors.refused) {
    if (clock !== "frozen") expect(await failure(decode({ token, secret, salt }))).toMatchObject({ code })
  }
})
