import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { asUnreadable } from "./foreign-errors.js"

// With a pattern that may begin anywhere, this takes minutes.
test("the error of a large request is converted at once, also if it quotes what looks like an error", () => {
  const text = 'cannot decode message a from JSON: key "'.repeat(100_000)
  for (const message of [text, `cannot decode field a.b from JSON: ${text}`, `${text}" is unknown.`]) {
    const failure = asUnreadable(new ConnectError(message, Code.InvalidArgument))
    expect(failure?.violations?.[0]?.description).toBe("cannot be read")
  }
})
