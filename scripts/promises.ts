// Checks that every promise of SECURITY.md has an id, and that a title of a test names each id: test("S-12: …").
//
//   node scripts/promises.ts

import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/**
 * Returns what is wrong, in one line each.
 *
 * @param page The text of SECURITY.md. Below "*We promise", each item of a list ends with an id, such as [S-12].
 * @param tests The sources of the tests, by file. Titles are string literals that begin with one or more ids.
 */
export function problemsOf(page: string, tests: ReadonlyMap<string, string>): string[] {
  const problems: string[] = []
  for (const part of page.split("*We promise").slice(1)) {
    const [promises = ""] = part.split(/\n\*|\n#/)
    const items = promises.split(/\n(?=- )/).slice(1)
    if (items.length === 0) problems.push(`SECURITY.md: no list follows: *We promise${promises.split("\n")[0]}`)
    for (const item of items) {
      const [text = ""] = item.split("\n\n")
      const [line] = text.split("\n")
      if (!/\[S-\d+\]$/.test(text.trimEnd())) problems.push(`SECURITY.md: a promise without an id: ${line}`)
    }
  }
  const promised = new Set<string>()
  for (const [, id = ""] of page.matchAll(/\[(S-\d+)\]/g)) {
    if (promised.has(id)) problems.push(`SECURITY.md: ${id} stands for two promises`)
    promised.add(id)
  }
  const tested = new Set<string>()
  for (const [file, source] of tests) {
    for (const [, ids = ""] of source.matchAll(/["'`](S-\d+(?:, S-\d+)*): /g)) {
      for (const id of ids.split(", ")) {
        tested.add(id)
        if (!promised.has(id)) problems.push(`${file}: SECURITY.md has no promise ${id}`)
      }
    }
  }
  for (const id of promised) if (!tested.has(id)) problems.push(`SECURITY.md: no title of a test names ${id}`)
  return problems
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const read = (file: string) => readFileSync(`${root}/${file}`, "utf8")
  const own = "{bench,client,examples,fuzz,server,test,token}/**/*.test.ts"
  const files = globSync([own, "test/support/store-contract/**/*.ts"], { cwd: root, exclude: ["**/node_modules/**"] })
  const problems = problemsOf(read("SECURITY.md"), new Map(files.map((file) => [file, read(file)])))
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
