import { expect, test } from "@jest/globals"
import { doubtAbout, doubtAboutShared, secretText } from "./secret-text.js"

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
])("%j is doubtful", (secret, doubt) => {
  expect(doubtAbout(secret)).toContain(doubt)
  expect(doubtAboutShared(secret)).toMatch(
    new RegExp(`^${doubt}.*: does the application use exactly the same bytes\\?$`),
  )
})

test("a comment, or the name of a variable, is only doubtful in a secret that an application reads too", () => {
  for (const secret of [`${text} # comment`, `${text}$HOME`]) {
    expect(doubtAbout(secret)).toBeUndefined()
    expect(doubtAboutShared(secret)).toMatch(/^contains # or \$/)
  }
  expect(doubtAboutShared("dGhlIHNlY3JldA+/=-_.~!")).toBeUndefined()
})
