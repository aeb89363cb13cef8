import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { errorsPage } from "../../scripts/errors-page.ts"
import { configurationPage, withExcerpts, withMigrations, withVersions } from "../../scripts/generated-pages.ts"
import { scopes } from "../../server/src/auth/scopes.js"

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8")

// `make verify` checks this too, but requires Maven and Go. If the test fails: make build, node scripts/pages.js.
test("docs/configuration.md matches the table of options", () => {
  expect(read("configuration.md")).toBe(configurationPage())
})

test("docs/upgrading.md states for each migration whether the previous version can run on it", () => {
  const page = read("upgrading.md")
  expect(page).toBe(withMigrations(page))
})

test("docs/stability.md has the versions that are tested with this one", () => {
  const page = read("stability.md")
  expect(page).toBe(withVersions(page))
  expect(withVersions(page, [])).toContain("There is no earlier release")
  expect(withVersions(page, ["v0.0.2", "v0.0.1"])).toContain("| 0.0.2 | tested | – | – |\n| 0.0.1 | tested | – | – |\n")
})

test("docs/other-languages.md shows the functions of the examples", () => {
  const page = read("other-languages.md")
  expect(page).toBe(withExcerpts(page))
})

test("docs/security.md lists exactly the scopes of the schema", () => {
  const named = read("security.md").match(/`[a-z-]+:[a-z-]+`/g) ?? []
  expect([...new Set(named)].sort()).toEqual(scopes.map((scope) => `\`${scope}\``))
})

test("docs/errors.md matches the schema and the mapping to status codes", () => {
  expect(read("errors.md")).toBe(errorsPage())
})

test.each([
  ["another status code", ["NOT_FOUND: the key lacks the scope.", "Create a key."]],
  ["no paragraph that says what to do", ["PERMISSION_DENIED: the key lacks the scope."]],
])("docs/errors.md is not written if a comment has %s", (_, paragraphs) => {
  expect(() => errorsPage([{ reason: "SCOPE_MISSING", paragraphs }])).toThrow(/the comment of SCOPE_MISSING must be/)
})
