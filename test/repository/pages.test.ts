import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { configurationPage, withMigrations } from "../../scripts/generated-pages.ts"
import { scopes } from "../../server/src/auth/scopes.js"

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8")

// `make verify` checks this too, but requires Maven and Go. If the test fails: make build, node scripts/pages.js.
test("docs/configuration.md matches the table of options", () => {
  expect(read("configuration.md")).toBe(configurationPage())
})

test("docs/upgrading.md states for each migration whether the previous version can run on it", () => {
  const page = read("upgrading.md")
  expect(page).toMatch(/^\| `0001-tables` \| yes \| .*\n\| `0002-lists` \| yes \| /m)
  expect(page).toBe(withMigrations(page))
})

test("docs/security.md lists exactly the scopes of the schema", () => {
  const named = read("security.md").match(/`[a-z-]+:[a-z]+`/g) ?? []
  expect([...new Set(named)].sort()).toEqual(scopes.map((scope) => `\`${scope}\``))
})
