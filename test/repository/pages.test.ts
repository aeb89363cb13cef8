import { readFileSync } from "node:fs"
import { ErrorReason } from "@authwire/proto"
import { describe, expect, test } from "@jest/globals"
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
  expect(page).toMatch(/^\| `0001-initial` \| yes \| there is none before the first release \|$/m)
  expect(page).toBe(withMigrations(page))
})

describe("docs/stability.md", () => {
  const page = read("stability.md")

  test("has the versions that are tested with this one", () => {
    expect(page).toBe(withVersions(page))
  })

  test("names each of the last releases as client and as service, and says when there is none", () => {
    const note = "There is no earlier release"
    expect(withVersions(page, [])).toContain(note)
    const released = withVersions(page, ["v0.0.2", "v0.0.1"])
    expect(released).not.toContain(note)
    expect(released).toMatch(
      /^\| client \| service \S+ \(this version\) \| service 0\.0\.2 \| service 0\.0\.1 \|\n(\| --- ){4}\|\n/m,
    )
    expect(released).toMatch(/^\| \S+ \(this version\) \| tested \| tested \| tested \|$/m)
    expect(released).toMatch(/^\| 0\.0\.2 \| tested \| – \| – \|\n\| 0\.0\.1 \| tested \| – \| – \|$/m)
  })
})

test("docs/other-languages.md shows the functions of the examples", () => {
  const page = read("other-languages.md")
  expect(page.match(/who_?is_?signed_?in\(/gi)).toHaveLength(4)
  expect(page).toBe(withExcerpts(page))
})

test("docs/security.md lists exactly the scopes of the schema", () => {
  const named = read("security.md").match(/`[a-z-]+:[a-z-]+`/g) ?? []
  expect([...new Set(named)].sort()).toEqual(scopes.map((scope) => `\`${scope}\``))
})

describe("docs/errors.md", () => {
  const page = read("errors.md")
  const parts = page.split(/^### /m).slice(1)

  test("matches the schema and the mapping to status codes", () => {
    expect(page).toBe(errorsPage())
  })

  test("has one heading for each reason, and a link to it", () => {
    const reasons = Object.keys(ErrorReason).filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED")
    expect(parts.map((part) => part.split("\n", 1)[0]).sort()).toEqual(reasons.sort())
    const links = [...page.matchAll(/\[(\w+)\]\(#(\w+)\)/g)].map(([, text, anchor]) => `${text} ${anchor}`)
    expect(links.sort()).toEqual(reasons.map((reason) => `${reason} ${reason.toLowerCase()}`).sort())
  })

  test("each reason has the status code by both names, the HTTP status, when it happens, and what to do", () => {
    const shape =
      /^\w+\n\n`[A-Z_]+` \(`[A-Z]\w+`\), HTTP \d{3}\n\n- When: [A-Z][\s\S]+\.\n- What to do: [A-Z][\s\S]+\.\n*$/
    expect(parts.filter((part) => !shape.test(part))).toEqual([])
  })

  test.each([
    ["another status code", ["NOT_FOUND: the key lacks the scope.", "Create a key."]],
    ["no paragraph that says what to do", ["PERMISSION_DENIED: the key lacks the scope."]],
  ])("is not written if a comment has %s", (_, paragraphs) => {
    expect(() => errorsPage([{ reason: "SCOPE_MISSING", paragraphs }])).toThrow(/the comment of SCOPE_MISSING must be/)
  })
})
