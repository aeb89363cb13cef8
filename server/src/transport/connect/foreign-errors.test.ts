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

test("an unknown field is named if its name consists of words, and otherwise only the message that lacks it", () => {
  for (const name of ["emial", "email_adress", "emailVerifiedAt"]) {
    expect(ruleOf({ [name]: "a" })).toBe(`has the field ${name}, which authwire.v1.CreateUserRequest does not have`)
  }
  const others = [
    'a" is unknown',
    'message x.Y from JSON: key "',
    "",
    "a b",
    "é",
    "awk_3f9a",
    "a".repeat(50),
    "0",
    "__proto",
  ]
  for (const name of others) {
    expect([name, ruleOf({ [name]: 1 })]).toEqual([
      name,
      "has a field that authwire.v1.CreateUserRequest does not have",
    ])
  }
})

// With a pattern that may begin anywhere, this takes minutes.
test("the error of a large request is converted at once, also if it quotes what looks like an error", () => {
  const text = 'cannot decode message a from JSON: key "'.repeat(100_000)
  for (const message of [text, `cannot decode field a.b from JSON: ${text}`, `${text}" is unknown.`]) {
    const failure = asUnreadable(new ConnectError(message, Code.InvalidArgument), createUser)
    expect(failure?.violations?.[0]?.description).toBe("is not a well-formed authwire.v1.CreateUserRequest")
  }
})
