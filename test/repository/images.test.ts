import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { images } from "@authwire/test-support/applications/screenshots.js"
import { describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const pages = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root })]
/** Each picture that a page shows, with its path in the repository. */
const shown = pages.flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, text, path]) => ({
    page,
    text,
    path: join(dirname(page), String(path)),
  })),
)
const pictures = shown.filter(({ path }) => path.startsWith(relative(root, images)))
const kept = globSync("*", { cwd: images }).map((name) => relative(root, join(images, name)))

// `make screenshots` writes the screenshots, and `make gen` the drawings.
describe("the pictures of the docs", () => {
  test("are all shown on a page, and every shown picture exists", () => {
    expect(kept.length).toBeGreaterThan(0)
    expect([...new Set(pictures.map(({ path }) => path))].sort()).toEqual(kept.sort())
    for (const { page, text } of shown) expect([page, text]).toEqual([page, expect.stringMatching(/\w{3}/)])
  })

  test("are small, and have the type of their names", () => {
    for (const path of kept) {
      const bytes = readFileSync(join(root, path))
      const type = path.endsWith(".svg") ? bytes.includes("<svg") : bytes.subarray(1, 4).toString() === "PNG"
      expect([path, type]).toEqual([path, true])
      expect([path, bytes.length <= 100_000]).toEqual([path, true])
    }
  })
})
