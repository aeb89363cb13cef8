// Collects the sources of the site in build/: the pages of docs/, the pages of the schema, and the reference of the client's types.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { writeSchemaPages } from "./schema-pages.js"
import { descriptionOf, root, sections, titleOf, unlisted } from "./sections.js"
import { base } from "./versions.ts"

const here = fileURLToPath(new URL(".", import.meta.url))
const build = join(here, "build")
const pages = new Set([...sections.flatMap((section) => section.pages), ...unlisted])

rmSync(build, { recursive: true, force: true })
for (const page of pages) {
  const text = readFileSync(join(root, page), "utf8")
  mkdirSync(dirname(join(build, page)), { recursive: true })
  const own = withoutForeignLinks(page, text)
  writeFileSync(
    join(build, page),
    `---\ndescription: ${JSON.stringify(descriptionOf(page))}\n---\n\n${withSizes(page, own)}`,
  )
  // The twin of the page, for programs: as text, at its address with `.md`.
  const twin = join(build, "public", page)
  mkdirSync(dirname(twin), { recursive: true })
  writeFileSync(twin, own)
  for (const [, image] of text.matchAll(/!\[[^\]]*\]\(([\w./-]+\.svg)\)/g)) {
    cpSync(join(root, dirname(page), image), join(build, dirname(page), image))
  }
}
cpSync(join(here, "index.md"), join(build, "index.md"))
cpSync(join(root, "docs/images"), join(build, "docs/images"), { recursive: true })
for (const name of ["logo.svg", "where.svg"]) cpSync(join(root, "docs/images", name), join(build, "public", name))
writeFileSync(join(build, "public/llms.txt"), index())
writeSchemaPages(join(build, "api"))
execFileSync("node_modules/.bin/typedoc", { cwd: here, stdio: "inherit" })

/** Gives each screenshot its size, so that the text below it does not move when it arrives. */
function withSizes(page, text) {
  return text.replaceAll(/!\[([^\]]*)\]\(([\w./-]+\.png)\)/g, (_, label, path) => {
    // The header of a PNG: width and height in pixels.
    const header = readFileSync(join(root, dirname(page), path)).subarray(16, 24)
    return `<img src="${path.startsWith(".") ? path : `./${path}`}" alt="${label}" width="${header.readUInt32BE(0)}" height="${header.readUInt32BE(4)}" loading="lazy">`
  })
}

/** Returns the list of the pages for programs: https://llmstxt.org. */
function index() {
  const lists = sections.map(({ text, pages }) => {
    const lines = pages.map((page) => `- [${titleOf(page)}](${base}${page}): ${descriptionOf(page)}`)
    return `## ${text}\n\n${lines.join("\n")}`
  })
  const about = "> An identity data service for Auth.js: users, accounts, sessions and passkeys behind one gRPC API."
  return `# Authwire\n\n${about}\n\n${lists.join("\n\n")}\n`
}

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
