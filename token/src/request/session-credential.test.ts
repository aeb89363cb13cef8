import { describe, expect, test } from "@jest/globals"
import { findSessionCredential } from "./session-credential.js"

const names = ["__Secure-s", "s"]

describe("findSessionCredential", () => {
  test("uses the first name that the request has", () => {
    expect(findSessionCredential({ cookie: "s=plain; __Secure-s=secure" }, names)).toEqual({
      from: "cookie",
      cookieName: "__Secure-s",
      isWhole: true,
      tokens: ["secure"],
    })
    expect(findSessionCredential({ cookie: "s=plain; __Secure-s=" }, names)).toMatchObject({ cookieName: "s" })
  })

  test("returns all candidates of chunks and a whole cookie", () => {
    expect(findSessionCredential({ cookie: "s.1=b; s.0=aa; s.2=c" }, names)).toEqual({
      from: "cookie",
      cookieName: "s",
      isWhole: false,
      tokens: ["aab", "aabc"],
    })
    expect(findSessionCredential({ cookie: "s.0=aa; s=whole" }, names)).toEqual({
      from: "cookie",
      cookieName: "s",
      isWhole: true,
      tokens: ["whole", "aa"],
    })
  })

  test("uses Bearer if there is no cookie with these names", () => {
    const authorization = "Bearer a%20b"
    expect(findSessionCredential({ authorization, cookie: "theme=dark" }, names)).toEqual({
      from: "bearer",
      tokens: ["a b"],
    })
    expect(findSessionCredential({ authorization, cookie: "s=x" }, names)).toMatchObject({ from: "cookie" })
    expect(findSessionCredential(new Headers({ authorization }), [])).toMatchObject({ from: "bearer" })
  })

  test.each([
    [{}],
    [{ cookie: "" }],
    [{ authorization: "Bearer" }],
    [{ authorization: "Bearer %zz" }],
    [{ cookie: "s.1=b; t=x; __Secure-s.x=y" }],
  ])("%j: undefined", (headers) => {
    expect(findSessionCredential(headers as Record<string, string>, names)).toBeUndefined()
  })
})
