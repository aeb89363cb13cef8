import { inspect } from "node:util"
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { AuthwireError, callError, invalid } from "./error.js"

const fromAuthwire = (reason: string, metadata = {}) => ({
  desc: ErrorInfoSchema,
  value: { domain: "authwire", reason, metadata },
})

describe("callError", () => {
  test("contains the method, the status, the reason and the service's message", () => {
    const cause = new ConnectError("the e-mail address is taken", Code.AlreadyExists, undefined, [
      fromAuthwire("EMAIL_ALREADY_EXISTS", { request_id: "r1" }),
    ])
    const error = callError("createUser", "auth.test:50051", cause)
    expect(error).toBeInstanceOf(AuthwireError)
    expect(error).toMatchObject({
      name: "AuthwireError",
      message: "createUser: ALREADY_EXISTS: the e-mail address is taken",
      code: "ALREADY_EXISTS",
      method: "createUser",
      reason: "EMAIL_ALREADY_EXISTS",
      metadata: { request_id: "r1" },
      fieldViolations: [],
      cause,
    })
  })

  test("lists the field violations", () => {
    const fieldViolations = [{ field: "email", description: "at most 320 characters" }]
    const cause = new ConnectError("invalid", Code.InvalidArgument, undefined, [
      fromAuthwire("INVALID_FIELD"),
      { desc: BadRequestSchema, value: { fieldViolations } },
    ])
    expect(callError("createUser", "", cause).fieldViolations).toEqual(fieldViolations)
  })

  test("contains the retry delay, if the service sends one", () => {
    type OutgoingDetail = Extract<ConnectError["details"][number], { desc: unknown }>
    const again = (ms: number) => ({ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(ms) } })
    const rejected = (...details: OutgoingDetail[]) =>
      callError("getUser", "", new ConnectError("too often", Code.ResourceExhausted, undefined, details))
    const error = rejected(fromAuthwire("RATE_LIMITED"), again(1_250))
    expect(error).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "RATE_LIMITED", retryAfterMs: 1_250 })
    expect(JSON.parse(JSON.stringify(error)).retryAfterMs).toBe(1_250)
    expect(rejected(fromAuthwire("QUEUE_FULL")).retryAfterMs).toBeUndefined()
    // The delay of a proxy is ignored.
    expect(rejected(again(1_250)).retryAfterMs).toBeUndefined()
  })

  test("contains the address of an unreachable service", () => {
    const cause = new ConnectError("connect ECONNREFUSED", Code.Unavailable)
    expect(callError("getUser", "127.0.0.1:50051", cause).message).toBe(
      "getUser: UNAVAILABLE: cannot reach Authwire at 127.0.0.1:50051: connect ECONNREFUSED. Is it running?",
    )
  })

  test("does not report an unreachable service when the service reports an unreachable database", () => {
    const cause = new ConnectError("the database is gone", Code.Unavailable, undefined, [
      fromAuthwire("DATABASE_UNAVAILABLE"),
    ])
    const error = callError("getUser", "127.0.0.1:50051", cause)
    expect(error.message).toBe("getUser: UNAVAILABLE: the database is gone")
    expect(error.reason).toBe("DATABASE_UNAVAILABLE")
  })

  test("every gRPC code has its name", () => {
    const names = Array.from({ length: 16 }, (_, i) => callError("m", "a", new ConnectError("", i + 1)).code)
    expect(names.join(" ")).toBe(
      "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED " +
        "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS " +
        "UNAUTHENTICATED",
    )
  })

  test("the message contains nothing of an error that is not from the transport", () => {
    const cause = new TypeError("cannot read 'secret@example.com'")
    const error = callError("createUser", "", cause)
    expect(error).toMatchObject({ code: "UNKNOWN", cause })
    expect(error.message).not.toContain("secret")
  })

  test("a long message of a foreign server is truncated", () => {
    expect(callError("getUser", "", new ConnectError("x".repeat(10_000), Code.Internal)).message.length).toBeLessThan(
      600,
    )
  })
})

describe("AuthwireError", () => {
  const error = callError("getUser", "", invalid("id", "must be a string"))

  test("can be serialized to JSON", () => {
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: {
        name: "AuthwireError",
        message: "getUser: INVALID_ARGUMENT: id must be a string",
        code: "INVALID_ARGUMENT",
        method: "getUser",
        reason: "INVALID_FIELD",
        metadata: {},
        fieldViolations: [{ field: "id", description: "must be a string" }],
      },
    })
  })

  test("its fields are enumerable, for loggers that copy them", () => {
    expect({ ...error }).toMatchObject({ code: "INVALID_ARGUMENT", method: "getUser", reason: "INVALID_FIELD" })
    expect(inspect(error)).toContain("INVALID_ARGUMENT")
  })
})
