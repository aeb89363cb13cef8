import { expect, test } from "@jest/globals"
import { doubtAbout, secretText } from "./secret-text.js"

const text = "b".repeat(40)

test.each<[content: string, secret: string]>([
  [text, text],
  [`${text}\n`, text],
  [`${text}\r\n`, text],
  [`${text}\n\n`, `${text}\n`],
  [` ${text} `, ` ${text} `],
])("a file with %j has the secret %j", (content, secret) => {
  expect(secretText(Buffer.from(content))).toBe(secret)
})

test.each([[""], ["\n"], ["x".repeat(16_385)], [Buffer.from([0x80])]])("a file with %j has no secret", (content) => {
  expect(() => secretText(Buffer.from(content as string))).toThrow("must have 1 to 16384 bytes of UTF-8")
})

test.each([
  [`"${text}"`, "is in quotes"],
  [`'${text}'`, "is in quotes"],
  [`${text} `, "begins or ends with a blank"],
  [`${text}\r`, "begins or ends with a blank"],
  [`\uFEFF${text}`, "begins or ends with a blank"],
  [" ".repeat(40), "begins or ends with a blank"],
  [`${text}\u0000${text}`, "contains bytes that are no text"],
  [`${text}\uFFFD${text}`, "contains bytes that are no text"],
  [`${text} # comment`, "contains # or \\$"],
  [`${text}$HOME`, "contains # or \\$"],
])("%j is doubtful", (secret, doubt) => {
  expect(doubtAbout(secret)).toMatch(new RegExp(`^${doubt}.*: does the application use exactly the same bytes\\?$`))
})

test("a secret in Base64 is not doubtful", () => {
  expect(doubtAbout("dGhlIHNlY3JldA+/=-_.~!")).toBeUndefined()
})
