import { globSync, readFileSync } from "node:fs"
import { basename, dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const bot = readFileSync(`${root}/.github/dependabot.yml`, "utf8")

/** The folders that have a file of these names, as the bot names them. */
function foldersWith(names: string): string[] {
  const installed = new Set(["node_modules", "build", ".next", ".venv", "target"])
  const files = globSync(`**/${names}`, { cwd: root, exclude: (path) => installed.has(basename(path)) })
  return [...new Set(files.map((file) => `/${dirname(file).replace(/^\.$/, "")}`))].sort()
}

test.each([
  ["npm", "package-lock.json"],
  ["gomod", "go.mod"],
  ["pip", "{requirements.txt,pyproject.toml}"],
  ["cargo", "Cargo.toml"],
  ["maven", "pom.xml"],
])("the bot for updates knows every folder with packages of %s", (ecosystem, names) => {
  const [, entry = ""] = bot.split(`package-ecosystem: ${ecosystem}\n`)
  const [own = ""] = entry.split("package-ecosystem:")
  expect([...own.matchAll(/^ +- (\/.*)$/gm)].map(([, folder]) => folder)).toEqual(foldersWith(names))
})

/** A tag of an action can be moved to other code. */
test("workflows name the commits of the actions that they run", () => {
  const workflows = globSync(".github/workflows/*.yml", { cwd: root }).map((file) =>
    readFileSync(`${root}/${file}`, "utf8"),
  )
  const uses = workflows.flatMap((text) => [...text.matchAll(/uses: (.*)$/gm)].map(([, action]) => action))
  expect(uses.length).toBeGreaterThan(0)
  expect(uses.filter((action) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action ?? ""))).toEqual([])
})
