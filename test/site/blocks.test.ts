import { globSync, readFileSync } from "node:fs"
import { matchesGlob, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { expect, test } from "@jest/globals"
import { placements } from "./placements.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const pages = globSync(["*.md", "{authwire,client,fuzz,gen/*,server,site,token}/*.md", "{docs,examples/*}/**/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**", "**/.venv/**", "**/target/**"],
}).sort()

const all = Object.entries(placements).flatMap(([page, blocks]) => blocks.map((one, index) => ({ page, index, one })))
const tests = all.flatMap(({ page, one }) => ("test" in one ? [`${page} ${one.test}`] : []))
const notRun = all.flatMap(({ page, index, one }) => ("notRun" in one ? [{ page, index, reason: one.notRun }] : []))

/** A new block must be placed: at the test that runs it, or with the reason why no test can. */
test("every block of code of every page is placed", () => {
  const counts = pages.map((page) => [page, blocksOf(page).length] as const).filter(([, count]) => count > 0)
  const placed = Object.entries(placements).map(([page, blocks]) => [page, blocks.length])
  expect(placed.sort()).toEqual(counts)
})

/** A line that begins with a fence and goes on closes nothing: what follows it is shown as code. */
test("every block of code ends with a fence that stands alone", () => {
  const open = pages.flatMap((page) => {
    let at = 0
    const wrong: string[] = []
    for (const [index, line] of readFileSync(`${root}/${page}`, "utf8").split("\n").entries()) {
      if (!/^ *```/.test(line)) continue
      if (at > 0 && line.trim() !== "```") wrong.push(`${page}:${index + 1}: ${line}`)
      at = at > 0 ? 0 : index + 1
    }
    return at > 0 ? [...wrong, `${page}:${at}: is not closed`] : wrong
  })
  expect(open).toEqual([])
})

test.each([...new Set(tests)].map((one) => one.split(" ") as [string, string]))("%s is read by %s", (page, file) => {
  const names = [...readFileSync(`${root}/${file}`, "utf8").matchAll(/["`](?:\$\{root\}\/)?([\w./*-]+\.md)["`]/g)]
  const read = names.flatMap(([, name = ""]) => [name, posix.join(posix.dirname(file), name)])
  expect(read.some((pattern) => matchesGlob(page, pattern))).toBe(true)
})

test.each(notRun)("block $index of $page is not run: $reason", ({ reason }) => {
  for (const [file] of reason.matchAll(/\b(?:test|deploy|fuzz)\/[\w./-]+\b/g)) {
    expect(globSync([file, `${file}.*`], { cwd: root })).not.toEqual([])
  }
})
