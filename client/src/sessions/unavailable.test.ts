import { SessionTokenError } from "@auth/core/errors"
import { expect, test } from "@jest/globals"
import { AuthwireError } from "../error.js"
import { toSessionUnavailable } from "./unavailable.js"

const outage = new AuthwireError({ code: "RESOURCE_EXHAUSTED", detail: "later", retryAfterMs: 2_100 })

test("an error of Auth.js is recognized by its type, even if a bundler has renamed its class", () => {
  const error = new SessionTokenError("", { cause: { err: outage } })
  error.name = "sm"
  expect(toSessionUnavailable(error)).toMatchObject({ cause: outage, retryAfterSeconds: 3 })
})

test("errors that do not concern a session are ignored", () => {
  expect(toSessionUnavailable(outage)).toBeUndefined()
  expect(
    toSessionUnavailable(new SessionTokenError("", { cause: { err: new Error("of a callback") } })),
  ).toBeUndefined()
})
