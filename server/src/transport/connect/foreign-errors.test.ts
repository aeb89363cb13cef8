import { CreateUserRequestSchema, UserService } from "@authwire/proto"
import { fromJson, type JsonValue } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { asUnreadable } from "./foreign-errors.js"

const { createUser } = UserService.method

/** Returns the rule that a request in JSON breaks. */
function ruleOf(json: JsonValue): string | undefined {
  try {
    fromJson(CreateUserRequestSchema, json, { ignoreUnknownFields: false })
  } catch (cause) {
    return asUnreadable(ConnectError.from(cause, Code.InvalidArgument), createUser)?.violations?.[0]?.description
  }
  throw new Error("the request can be read")
}

test("an unknown field is named by the message that lacks it, whatever the field is called", () => {
  const rule = "has a field that authwire.v1.CreateUserRequest does not have"
  expect(ruleOf({ emial: "a" })).toBe(rule)
  expect(ruleOf({ 'a" is unknown': 1 })).toBe(rule)
  expect(ruleOf({ 'message x.Y from JSON: key "': 1 })).toBe(rule)
})

// With a pattern that may begin anywhere, this takes minutes.
test("the error of a large request is converted at once, also if it quotes what looks like an error", () => {
  const text = 'cannot decode message a from JSON: key "'.repeat(100_000)
  for (const message of [text, `cannot decode field a.b from JSON: ${text}`, `${text}" is unknown.`]) {
    const failure = asUnreadable(new ConnectError(message, Code.InvalidArgument), createUser)
    expect(failure?.violations?.[0]?.description).toBe("is not a well-formed authwire.v1.CreateUserRequest")
  }
})
