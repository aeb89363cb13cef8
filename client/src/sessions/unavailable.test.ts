import { SessionTokenError } from "@auth/core/errors"
import { expect, test } from "@jest/globals"
import { AuthwireError } from "../error.js"
import { unavailableBy } from "./unavailable.js"

const outage = new AuthwireError({ code: "RESOURCE_EXHAUSTED", detail: "later", retryAfterMs: 2_100 })

test("an error of Auth.js is known by its type, whatever a bundler makes of the name of its class", () => {
  const error = new SessionTokenError("", { cause: { err: outage } })
  error.name = "sm"
  expect(unavailableBy(error)).toMatchObject({ cause: outage, retryAfterSeconds: 3 })
})

test("errors that say nothing about a session are none of its business", () => {
  expect(unavailableBy(outage)).toBeUndefined()
  expect(unavailableBy(new SessionTokenError("", { cause: { err: new Error("of a callback") } }))).toBeUndefined()
})
