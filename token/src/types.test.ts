import type * as core from "@auth/core/jwt"
import { expect, test } from "@jest/globals"
import {
  type DefaultJWT,
  decode,
  encode,
  type GetTokenParams,
  getToken,
  type JWT,
  type JWTDecodeParams,
  type JWTEncodeParams,
  type JWTOptions,
} from "./index.js"

// Compares the types with those of the contract and of @auth/core. The compiler is the test (`tsc --project test`).

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <_T extends true>() => {}
/** Compiles only if each type is assignable to the other. */
const alike = <A, B extends A>(_: A extends B ? true : never) => {}

test("the types are those of the contract", () => {
  same<Same<DefaultJWT["sub"], string | undefined>>()
  same<Same<JWT["anything"], unknown>>()
  same<Same<JWTDecodeParams, { salt: string; secret: string | string[]; token?: string }>>()
  alike<JWT, core.JWT>(true)
  alike<DefaultJWT, core.DefaultJWT>(true)
  alike<JWTDecodeParams, core.JWTDecodeParams>(true)
  alike<JWTEncodeParams, core.JWTEncodeParams>(true)
  alike<JWTEncodeParams<{ a: 1 }>, core.JWTEncodeParams<{ a: 1 }>>(true)
  alike<JWTOptions["encode"], core.JWTOptions["encode"]>(true)
  alike<JWTOptions["decode"], core.JWTOptions["decode"]>(true)
  expect(true).toBe(true)
})

test("the functions are assignable to those of @auth/core", () => {
  const functions: Pick<typeof core, "encode" | "decode"> = { encode, decode }
  const overrides: Pick<core.JWTOptions, "encode" | "decode"> = { encode, decode }
  const find: <R extends boolean = false>(params: GetTokenParams<R>) => Promise<R extends true ? string : JWT | null> =
    getToken
  const params = {} as core.GetTokenParams
  const call = () => getToken(params)
  expect([functions, overrides, find, call]).toHaveLength(4)
})

test("getToken's result depends on raw", () => {
  const req = { headers: {} }
  const calls = () => {
    same<Same<Awaited<typeof claims>, JWT | null>>()
    same<Same<Awaited<typeof unread>, string | null>>()
    same<Same<Awaited<typeof read>, JWT | null>>()
    same<Same<Awaited<typeof generic>, string>>()
    same<Same<Awaited<typeof either>, string | JWT | null>>()
    same<Same<Awaited<typeof own>, { mine: true } | null>>()
  }
  const claims = getToken({ req })
  const unread = getToken({ req, raw: true })
  const read = getToken({ req, raw: false })
  const generic = getToken<true>({ req, raw: true })
  const either = getToken({ req, raw: true as boolean })
  const own = decode<{ mine: true }>({ secret: "s", salt: "s" })
  // @ts-expect-error: a secret is text
  const wrong = getToken({ req, secret: 1 }).catch(() => undefined)
  expect([calls, claims, unread, read, generic, either, own, wrong]).toHaveLength(8)
})
