import { SessionTokenError } from "@auth/core/errors"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { Code, ConnectError } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { AuthwireError, callError, invalid, missingOption } from "../errors/error.js"
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

/** Returns an error as the service sends it. */
const ofService = (code: Code, reason: string) =>
  new ConnectError("", code, undefined, [{ desc: ErrorInfoSchema, value: { domain: "authwire", reason } }])

describe.each([
  ["a typed client", (error: ConnectError) => error],
  ["the adapter", (error: ConnectError) => callError("updateUser", "the service", error)],
])("an error that a callback gets from %s", (_, thrown) => {
  const unavailable = (error: ConnectError) =>
    toSessionUnavailable(new SessionTokenError("", { cause: { err: thrown(error) } }))

  test.each([
    [Code.NotFound, "USER_NOT_FOUND"],
    [Code.AlreadyExists, "EMAIL_ALREADY_EXISTS"],
    [Code.FailedPrecondition, "COUNTER_REGRESSION"],
    [Code.FailedPrecondition, "USER_DISABLED"],
    [Code.FailedPrecondition, "REFRESH_TOKEN_MISSING"],
    [Code.FailedPrecondition, "REFRESH_REFUSED"],
    [Code.Unauthenticated, "TOKEN_EXPIRED"],
    [Code.Unauthenticated, "NO_MATCHING_SECRET"],
  ])("is no outage if it is an answer of the service about its data or the token: %p %s", (code, reason) => {
    expect(unavailable(ofService(code, reason))).toBeUndefined()
    const ofProxy = new ConnectError("", code)
    expect(unavailable(ofProxy)).toMatchObject({ name: "SessionUnavailable", cause: { cause: ofProxy } })
  })

  test("is no outage if the value of the cookie does not have the form of a token", () => {
    expect(unavailable(invalid("session_token", "must be at most 255 bytes"))).toBeUndefined()
  })

  test.each([
    ["a missing option", missingOption("apiKey")],
    ["an invalid value of another field", invalid("email", "must be a string")],
    ["a missing secret", ofService(Code.FailedPrecondition, "MISSING_SECRET")],
    ["a missing encryption key", ofService(Code.FailedPrecondition, "ENCRYPTION_KEY_MISSING")],
    ["a provider that is not configured", ofService(Code.FailedPrecondition, "PROVIDER_NOT_CONFIGURED")],
    ["a rejected API key", ofService(Code.Unauthenticated, "API_KEY_INVALID")],
    ["a missing API key", ofService(Code.Unauthenticated, "API_KEY_MISSING")],
    ["a missing scope", ofService(Code.PermissionDenied, "SCOPE_MISSING")],
    ["a cancelled call", ofService(Code.Canceled, "CANCELLED")],
    ["a method that the service does not have", ofService(Code.Unimplemented, "METHOD_UNKNOWN")],
    ["a database that cannot be reached", ofService(Code.Unavailable, "DATABASE_UNAVAILABLE")],
    ["an abandoned write", ofService(Code.Aborted, "CONFLICT")],
    ["an internal error", ofService(Code.Internal, "INTERNAL")],
  ])("is an outage: %s", (_, error) => {
    expect(unavailable(error)).toMatchObject({ name: "SessionUnavailable" })
  })
})

test("the search of an error whose causes form a cycle ends", () => {
  const [first, second] = [new Error("first"), new Error("second")]
  first.cause = second
  second.cause = first
  expect(toSessionUnavailable(new SessionTokenError("", { cause: { err: first } }))).toBeUndefined()
})
