import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "@jest/globals"
import { passwordReader } from "./database-password.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-password-"))
const file = join(folder, "password")
afterAll(() => rmSync(folder, { recursive: true }))

const server = { host: "db", port: 3306, username: "u" }
const byCommand = (databasePasswordCommand: string, databaseConnectTimeoutMs = 5000) =>
  passwordReader({ databasePasswordCommand, databaseConnectTimeoutMs })
const byFile = (databasePasswordFile: string) =>
  passwordReader({ databasePasswordFile, databaseConnectTimeoutMs: 5000 })
/** Writes a program and returns its command. */
const program = (text: string) => {
  const path = join(folder, "program.js")
  writeFileSync(path, text)
  return `${process.execPath} ${path}`
}

describe("the password of a new connection", () => {
  test.each<[string, string]>([
    ["one\n", "one"],
    ["two\r\n", "two"],
    [" three \n\n", " three \n"],
  ])("the file %j is %j, and is read each time", async (content, password) => {
    writeFileSync(file, content)
    expect(await byFile(file)?.(server)).toBe(password)
  })

  test("a command gets the server and its own words, and runs once for connections that are made together", async () => {
    const text = `require("fs").appendFileSync(${JSON.stringify(file)}, "x")
      const { AUTHWIRE_DATABASE_HOST: host, AUTHWIRE_DATABASE_PORT: port, AUTHWIRE_DATABASE_USER: user } = process.env
      process.stdin.on("end", () => console.log([host, port, user, process.argv[2]].join("|"))).resume()`
    writeFileSync(file, "")
    const read = byCommand(`${program(text)} $HOME`)
    expect(await Promise.all([read?.(server), read?.(server)])).toEqual(["db|3306|u|$HOME", "db|3306|u|$HOME"])
    expect(await byFile(file)?.(server)).toBe("x")
    expect(await read?.({ ...server, host: "other" })).toBe("other|3306|u|$HOME")
  })

  test.each<[string, () => ReturnType<typeof passwordReader>, string]>([
    ["a missing file", () => byFile(join(folder, "none")), "--database-password-file: ENOENT"],
    ["an endless file", () => byFile("/dev/zero"), "--database-password-file: must be a file of at most 16384 bytes"],
    ["a missing program", () => byCommand("/no/such"), "--database-password-command: the command failed (ENOENT)"],
    [
      "an empty output",
      () => byCommand("/bin/true"),
      "--database-password-command: must have 1 to 16384 bytes of UTF-8",
    ],
    [
      "a failing program, whatever it prints",
      () => byCommand(program("console.log('secret'); console.error('secret'); process.exit(3)")),
      "--database-password-command: the command ended with status 3",
    ],
    [
      "an endless output",
      () => byCommand(program("for (;;) console.log('secret'.repeat(1000))")),
      "--database-password-command: the command printed more than 16384 bytes",
    ],
    [
      "a program that does not end",
      () => byCommand("/bin/sleep 60", 100),
      "--database-password-command: no password within 100 ms",
    ],
  ])("%s is an error that names the option", async (_, reader, message) => {
    await expect(reader()?.(server)).rejects.toThrow(new Error(message))
  })

  test("without an option the password is that of the URL", () => {
    expect(passwordReader({ databaseConnectTimeoutMs: 5000 })).toBeUndefined()
  })
})
