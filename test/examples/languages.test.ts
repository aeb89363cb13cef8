import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { languages } from "@authwire/test-support/machine/languages.js"
import { describe, expect, test } from "@jest/globals"
import { describeExamples } from "./languages.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

describeExamples("Go", "Python")

describe("docs/other-languages.md", () => {
  const page = readFileSync(`${root}/docs/other-languages.md`, "utf8")
  const blocks = (fence: string) =>
    [...page.matchAll(new RegExp(`^\`\`\`${fence}\n(.*?)^\`\`\``, "gms"))].map((match) => match[1] as string)

  test.each(languages)("the code that it shows in $name is that of the example", ({ folder }) => {
    const sources = globSync(`${root}/examples/${folder}/**/*.{go,py,java,rs}`, {
      exclude: ["**/target/**", "**/.venv/**"],
    })
    const shown = blocks(folder)
    expect(shown.length).toBeGreaterThan(1)
    for (const block of shown) {
      const lines = block.trimEnd().split("\n")
      const found = sources.some((file) => excerpts(readFileSync(file, "utf8"), lines.length).has(lines.join("\n")))
      expect({ block, found }).toEqual({ block, found: true })
    }
  })
})

/** Returns every sequence of `count` lines, with the common indentation removed. */
function excerpts(source: string, count: number): Set<string> {
  const lines = source.split("\n")
  return new Set(
    lines.map((_, at) => {
      const excerpt = lines.slice(at, at + count)
      const indents = excerpt.filter((line) => line !== "").map((line) => line.search(/\S/))
      return excerpt.map((line) => line.slice(Math.min(...indents))).join("\n")
    }),
  )
}
