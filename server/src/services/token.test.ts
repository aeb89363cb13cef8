import { createTokenModule, encode } from "@authwire/token"
import { afterEach, describe, expect, jest, test } from "@jest/globals"
import type { Call } from "../rpc/call.js"
import { tokenService } from "./token.js"

const salt = "authjs.session-token"
const secrets: Readonly<Record<string, readonly string[]>> = { acme: ["of acme"], other: ["of the other", "older"] }
const service = (cacheSize: number) =>
  tokenService({
    secretsOf: (tenant) => secrets[tenant] ?? [],
    secureCookie: false,
    tokens: createTokenModule({ cacheSize }),
  })
const callOf = (tenant: string) => ({ tenant }) as Call

afterEach(() => {
  jest.restoreAllMocks()
})

describe("tokenService", () => {
  test.each([
    [1000, 1],
    [0, 6],
  ])("with a cache of %i tokens, a token that is read six times is decrypted %i times", async (size, times) => {
    const decrypted = jest.spyOn(crypto.subtle, "decrypt")
    const { decode, getToken } = service(size)
    const token = await encode({ secret: "of acme", salt, token: { sub: "1" } })
    const headers = [{ name: "cookie", value: `${salt}=${token}` }]
    for (let count = 0; count < 3; count++) {
      const decoded = await decode({ token, salt, secrets: [] } as never, callOf("acme"))
      expect(decoded).toMatchObject({ payload: { sub: "1" } })
      const found = await getToken({ headers, secrets: [], raw: false } as never, callOf("acme"))
      expect(found).toMatchObject({ result: { case: "payload", value: { sub: "1" } } })
    }
    expect(decrypted).toHaveBeenCalledTimes(times)
  })

  test("each service has its own cache", async () => {
    const decrypted = jest.spyOn(crypto.subtle, "decrypt")
    const token = await encode({ secret: "of acme", salt, token: { sub: "1" } })
    for (const { decode } of [service(10), service(10)]) {
      await decode({ token, salt, secrets: [] } as never, callOf("acme"))
    }
    expect(decrypted).toHaveBeenCalledTimes(2)
  })
})
