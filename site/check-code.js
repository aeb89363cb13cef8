// Checks the TypeScript of the pages. Each block of docs/start, docs/moving.md and docs/runtimes.md must compile as a module without
// changes, and so must each block of the README that begins with the name of its file. The README's tests run its other blocks.
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { root } from "./sections.js"

const here = fileURLToPath(new URL(".", import.meta.url))
const folder = join(here, "build/code")
rmSync(folder, { recursive: true, force: true })

const pages = globSync(["docs/start/*.md", "docs/moving.md", "docs/runtimes.md", "README.md"], { cwd: root })
const files = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), "utf8")
  const subfolder = page.replace(/\.md$/, "").replaceAll("/", "-")
  // The first line of a block names its file. The blocks of a page can import each other.
  return [...text.matchAll(/^```tsx?\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name, code]) => {
    const file = join(folder, subfolder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
    return file
  })
})
const blocks = pages.flatMap((page) => {
  const rule = page === "README.md" ? /^```tsx?\n\/\/ \S+$/gm : /^```tsx?$/gm
  return readFileSync(join(root, page), "utf8").match(rule) ?? []
}).length
if (files.length !== blocks) throw new Error(`${blocks - files.length} blocks do not begin with the name of their file`)
if (new Set(files).size !== files.length) throw new Error("two blocks of a page have the same file")
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.code.json", files }))
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", folder], {
  cwd: here,
  stdio: "inherit",
})
process.stdout.write(`${files.length} blocks of ${pages.length} pages compile\n`)
