import { expect, test } from "@jest/globals"
import { printable, printableLines } from "./printable.js"

const nasty = [
  "\u001b",
  "\u009b",
  "\n",
  "\r",
  "\t",
  "\u2028",
  "\u2029",
  "\u202e",
  "\u2066",
  "\u200b",
  "\ufeff",
  "\u{e0041}",
]

test("no character controls the terminal, hides or turns text, and JSON keeps its meaning", () => {
  for (const character of nasty) {
    const text = `a${character}b`
    expect(printable(text)).toMatch(/^a(\\u[0-9a-f]{4}){1,2}b$/)
    const json = JSON.stringify({ name: text })
    expect(printableLines(`${json}\n`)).toMatch(/^[ -~]*\n$/)
    expect(JSON.parse(printableLines(json))).toEqual({ name: text })
  }
})

test("text that people write stays as it is, with characters that join letters", () => {
  for (const text of ["Zoë", "北京", "👨‍👩‍👧", "می‌خواهم", "e\u0301"]) expect(printable(text)).toBe(text)
})
