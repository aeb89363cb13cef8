// Compiles every block of TypeScript of the pages, as a module without changes. A block whose first line names its file is
// compiled with the others of its page, which it can import. reader.d.ts declares what blocks use of the reader's application.
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { root } from "./sections.js"

const here = fileURLToPath(new URL(".", import.meta.url))
const folder = join(here, "build/code")
rmSync(folder, { recursive: true, force: true })

const pages = globSync(["README.md", "docs/**/*.md", "site/index.md"], { cwd: root })
const files = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), "utf8")
  const subfolder = page.replace(/\.md$/, "").replaceAll("/", "-")
  return [...text.matchAll(/^```(tsx?)\n([\s\S]*?)^```$/gm)].map(([, language, code], index) => {
    const name = /^\/\/ (\S+)\n/.exec(code)?.[1] ?? `block-${index}.${language}`
    const file = join(folder, subfolder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
    return file
  })
})
if (new Set(files).size !== files.length) throw new Error("two blocks of a page have the same file")
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({ extends: "../../tsconfig.code.json", files: [join(here, "reader.d.ts"), ...files] }),
)
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", folder], {
  cwd: here,
  stdio: "inherit",
})
process.stdout.write(`${files.length} blocks of ${pages.length} pages compile\n`)
