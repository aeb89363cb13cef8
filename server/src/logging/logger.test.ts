import { execFileSync } from "node:child_process"
import { expect, test } from "@jest/globals"

const nasty = "x\u001b[2J\u007f\u009b31m\u200b\u2028\u202e\ufeff\u{e0041}\r\nfatal"

/** Returns what a process writes that logs a text of a caller in every place of a line. */
function logged(format: "json" | "text", isTTY: boolean): string {
  const program = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("../../dist/logging/logger.js"))}
    process.stderr.isTTY = ${isTTY}
    const text = ${JSON.stringify(nasty)}
    const log = createLog({ logLevel: "info", logFormat: "${format}" })
    log.warn({ id: text, [text]: [text], err: Object.assign(new Error(text), { code: text }) }, text)`
  const shell = ["-c", 'exec "$0" --input-type=module --eval "$1" 2>&1', process.execPath, program]
  return execFileSync("sh", shell, { encoding: "utf8" })
}

test("a line in JSON has no character that controls a terminal, and the same values", () => {
  const line = logged("json", false)
  expect(line).toMatch(/^[ -~]+\n$/)
  const { id, [nasty]: list, err, msg } = JSON.parse(line)
  expect([id, list, err.message, err.code, msg]).toEqual([nasty, [nasty], nasty, nasty, nasty])
})

test.each([false, true])("text has none except colors on a terminal, and no line that a caller began: %p", (isTTY) => {
  const lines = logged("text", isTTY)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: These are the colors.
  const plain = lines.replaceAll(/\u001b\[\d+m/g, "")
  expect(plain === lines).toBe(!isTTY)
  expect(plain).toMatch(/^[ -~\n]+$/)
  expect(plain).not.toMatch(/^fatal/m)
  expect(plain).toContain(
    String.raw`WARN: x\u001b[2J\u007f\u009b31m\u200b\u2028\u202e\ufeff\udb40\udc41\u000d\u000afatal {`,
  )
})
