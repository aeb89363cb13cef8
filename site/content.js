// Collects the sources of the site in build/: the pages of docs/, the pages of the schema, and the reference of the client's types.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { writeSchemaPages } from "./schema-pages.js"
import { root, sections } from "./sections.js"

const here = fileURLToPath(new URL(".", import.meta.url))
const build = join(here, "build")
const pages = new Set(sections.flatMap((section) => section.pages))

rmSync(build, { recursive: true, force: true })
for (const page of pages) {
  const text = readFileSync(join(root, page), "utf8")
  mkdirSync(dirname(join(build, page)), { recursive: true })
  writeFileSync(join(build, page), withoutForeignLinks(page, text))
  for (const [, image] of text.matchAll(/!\[[^\]]*\]\(([\w./-]+\.svg)\)/g)) {
    cpSync(join(root, dirname(page), image), join(build, dirname(page), image))
  }
}
cpSync(join(here, "index.md"), join(build, "index.md"))
cpSync(join(root, "docs/images"), join(build, "docs/images"), { recursive: true })
writeSchemaPages(join(build, "api"))
execFileSync("node_modules/.bin/typedoc", { cwd: here, stdio: "inherit" })

/**
 * Replaces links to files of the repository that are not pages of the site by their text, because the site does not have
 * these files. A link to a file that does not exist remains, so that the build fails.
 */
function withoutForeignLinks(page, text) {
  return text.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)/g, (whole, label, link) => {
    if (/^[a-z]+:/.test(link)) return whole
    const target = posix.join(posix.dirname(page), link).replace(/\/$/, "")
    return !pages.has(target) && existsSync(join(root, target)) ? label : whole
  })
}
