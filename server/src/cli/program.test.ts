import { expect, test } from "@jest/globals"
import { optionsOf } from "../config/options.js"
import { ConfigurationError } from "../errors/configuration-error.js"
import { runProgram } from "./program.js"

/** Runs a command that ends before it does anything. Returns what it prints, or its error. */
async function run(...args: string[]): Promise<string> {
  let printed = ""
  const print = async (text: string) => {
    printed += text
  }
  try {
    await runProgram(args, { environment: {}, version: "1.2.3", output: { print, say() {} } })
    return printed
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.message
  }
}

test("--help names every command", async () => {
  const text = await run("--help")
  const commands =
    "serve migrate rekey cleanup import export doctor keys tenants events users sessions policy webhooks audit console help"
  expect([...text.matchAll(/^ {2}(?!authwire|curl)([a-z]+) /gm)].map(([, name]) => name).join(" ")).toBe(commands)
  expect(await run("--version")).toBe("authwire 1.2.3\n")
})

test.each(["serve", "migrate up", "keys create", "import", "export", "doctor"])(
  "%s --help names every option and variable of the command, and no other",
  async (command) => {
    const printed = await run(...command.split(" "), "--help", "all")
    const known = optionsOf(command).map(([, option]) => option)
    const flags = known.flatMap(({ flag }) => flag ?? []).concat("help")
    expect([...printed.matchAll(/^ {2}(?:-h, )?--([a-z-]+)/gm)].map(([, flag]) => flag).sort()).toEqual(flags.sort())
    const text = printed.replaceAll(/\s+/g, " ")
    if (!flags.includes("dev")) expect(text).not.toContain("--dev")
    for (const { variable, help, helpOf, default: preset } of known) {
      expect(text).toContain(Object.entries(helpOf ?? {}).find(([one]) => one === command)?.[1] ?? help)
      if (variable !== undefined) expect(text).toContain(variable)
      if (preset !== undefined) expect(text).toContain(`default: ${preset}`)
    }
  },
)

/** Returns the helps of a command and of those below it. */
async function helpsOf(...path: string[]): Promise<string[]> {
  const help = await run(...path, "--help")
  const [, commands = ""] = /\nCommands:\n(.*?)(?:\n\n|$)/s.exec(help) ?? []
  const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name)
  const below = names.filter((name) => name !== "help").map((name) => helpsOf(...path, name))
  return [help, ...(await Promise.all(below)).flat()]
}

test("no line of a help is wider than 80 columns, unless it is one word", async () => {
  const helps = await helpsOf()
  expect(helps.length).toBeGreaterThan(30)
  const wide = helps.flatMap((help) => help.split("\n")).filter((line) => line.length > 80)
  expect(wide.filter((line) => !/^ +\S+$/.test(line))).toEqual([])
})

test("serve --help shows the common options, and says how to see all", async () => {
  const printed = await run("serve", "--help")
  expect(printed.match(/^ {2}--[a-z-]+/gm)?.length).toBe(9)
  expect(printed).toContain("AUTH_SECRET ")
  expect(printed).not.toContain("OTEL_")
  expect(printed).toMatch(/\nAll options: authwire serve --help all\n$/)
})

test.each([
  [
    [],
    /^the commands are serve, migrate, rekey, cleanup, import, export, doctor, keys, tenants, events, users, sessions, policy, webhooks, audit and console/,
  ],
  [["start"], /^the commands are/],
  [["migrate", "sideways", "--dev"], /^migrate: must be one of up, down, status/],
  [["serve", "--nope"], /--nope; see authwire serve --help/],
  [["serve", "--grpc-adr", "x"], /--grpc-adr \(did you mean --grpc-addr\?\)/],
  [["keys", "list", "--grpc-addr=off"], /--grpc-addr; see authwire keys/],
  [["serve", "--database-url"], /^--database-url: needs a value/],
  [["serve", "--audit-log", "--dev"], /^--audit-log: needs a value/],
  [["migrate", "up", "--dev=x"], /^--dev: takes no value/],
  [["serve", "x"], /^serve takes options only/],
  [["serve"], /^--database-url: is required.*--dev/],
  [["keys", "revoke"], /^keys: must be one of create, list, revoke ID/],
  [["keys", "revoke", "J\ufffdrg"], /^keys revoke <ID>: must be UTF-8, without the character U\+FFFD$/],
  [["keys", "create", "--name=J\ufffdrg", "--offline"], /^--name: must be UTF-8/],
  [["tenants"], /^tenants: must be one of create NAME, list/],
  [["tenants", "create", "a_b", "--dev"], /^tenants create: a name has/],
  [["tenants", "create", "a".repeat(64), "--dev"], /^tenants create: a name has/],
])("%j: a line that says what to do", async (args, message) => {
  const line = await run(...args)
  expect(line).toMatch(message)
  expect(line.split("\n")).toHaveLength(1)
})

test("arguments are never printed, because one may be a secret in the wrong place", async () => {
  const secret = "hunter2-hunter2"
  for (const args of [[secret], ["serve", `--nope=${secret}`], ["serve", `--dev=${secret}`], ["keys", secret]]) {
    expect(await run(...args)).not.toContain("hunter2")
  }
})
