import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { setEnvDefaults } from "../test/core.js"
import { secretsFromEnvironment, secureCookieFromEnvironment, sessionCookieName } from "./index.js"

describe("secretsFromEnvironment", () => {
  test("has the order of Auth.js for any set variables", () => {
    const value = fc.option(fc.string(), { nil: undefined })
    fc.assert(
      fc.property(
        fc.record({ AUTH_SECRET: value, AUTH_SECRET_1: value, AUTH_SECRET_2: value, AUTH_SECRET_3: value }),
        (env) => {
          const config: Parameters<typeof setEnvDefaults>[1] = { providers: [] }
          setEnvDefaults(env, config)
          expect(secretsFromEnvironment(env)).toEqual(config.secret)
        },
      ),
    )
  })

  test("reads the environment of the process by default", () => {
    const kept = process.env.AUTH_SECRET_3
    process.env.AUTH_SECRET_3 = "three"
    try {
      expect(secretsFromEnvironment()[0]).toBe("three")
    } finally {
      if (kept === undefined) delete process.env.AUTH_SECRET_3
      else process.env.AUTH_SECRET_3 = kept
    }
  })

  test("tolerates an environment without read permission", () => {
    const kept = Object.getOwnPropertyDescriptor(process, "env") as PropertyDescriptor
    const forbidden = new Proxy(
      {},
      {
        get: () => {
          throw new Error("NotCapable")
        },
      },
    )
    Object.defineProperty(process, "env", { configurable: true, value: forbidden })
    try {
      expect(secretsFromEnvironment()).toEqual([])
      expect(secureCookieFromEnvironment()).toBe(false)
    } finally {
      Object.defineProperty(process, "env", kept)
    }
  })
})

describe("secureCookieFromEnvironment", () => {
  test.each([
    [false, {}],
    [false, { AUTH_URL: "" }],
    [false, { AUTH_URL: "http://app.example" }],
    [false, { AUTH_URL: "HTTP://app.example" }],
    [true, { AUTH_URL: "https://app.example" }],
    [true, { AUTH_URL: "app.example" }],
    [true, { SERVICE_AUTH_URL: "https://app.example" }],
    [false, { SERVICE_AUTH_URL: "http://app.example", AUTH_URL: "https://app.example" }],
    [true, { SERVICE_AUTH_URL: "https://app.example", AUTH_URL: "http://app.example" }],
    [true, { SERVICE_AUTH_URL: "", AUTH_URL: "https://app.example" }],
  ])("is %j with %j", (expected, env) => {
    expect(secureCookieFromEnvironment(env)).toBe(expected)
  })
})

test("sessionCookieName", () => {
  expect(sessionCookieName(false)).toBe("authjs.session-token")
  expect(sessionCookieName(true)).toBe("__Secure-authjs.session-token")
})
