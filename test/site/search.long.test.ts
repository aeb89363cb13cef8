import { execFile } from "node:child_process"
import { globSync } from "node:fs"
import { createRequire } from "node:module"
import { promisify } from "node:util"
import { hasSite, site } from "@authwire/test-support/applications/site.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

/** The part of MiniSearch that the site's search box uses. */
interface Index {
  search(words: string): { id: string }[]
}

const describeSite = hasSite() ? describe : describe.skip

describeSite("the search of the site", () => {
  let index: Index

  beforeAll(async () => {
    await promisify(execFile)("npm", ["run", "--silent", "build"], {
      cwd: site,
      env: { ...process.env, NODE_OPTIONS: "" },
    })
    const [file = ""] = globSync(`${site}/dist/assets/chunks/@localSearchIndexroot.*.js`)
    const MiniSearch = createRequire(`${site}/package.json`)("minisearch")
    // As VitePress's search box does it.
    index = MiniSearch.loadJSON((await import(file)).default, {
      fields: ["title", "titles", "text"],
      storeFields: ["title", "titles"],
      searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
    })
  }, 300_000)

  test.each([
    ["PermissionDenied", "scope_missing"],
    ["PERMISSION_DENIED", "scope_missing"],
    ["SCOPE_MISSING", "scope_missing"],
    ["DATABASE_UNAVAILABLE", "database_unavailable"],
  ])("%s leads to the page of errors", (words, anchor) => {
    const first = index.search(words).slice(0, 5)
    expect(first.map(({ id }) => id)).toContain(`/docs/errors.html#${anchor}`)
  })
})
