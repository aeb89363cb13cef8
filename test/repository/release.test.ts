import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, "server/package.json"), "utf8")) as { version: string }

function run(script: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/release", script), ...args], {
    encoding: "utf8",
  })
  return { code: status, output: stdout + stderr }
}

test("the version stands wherever it must, and the change log has a section for it", () => {
  expect(run("ready.js")).toEqual({ code: 0, output: expect.stringContaining(`release: ${version} stands in `) })
})

describe("a copy of the repository", () => {
  const files = ["*.md", "docs/**/*.md", "deploy/**/*.*", "deploy/Dockerfile", "gen/python/*.toml", "**/package*.json"]
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-ready-"))
    for (const file of globSync(files, { cwd: root, exclude: ["**/node_modules/**", "**/build/**", "**/.next/**"] })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      cpSync(join(root, file), join(folder, file), { recursive: true })
    }
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function replace(file: string, before: string, after: string): void {
    const text = readFileSync(join(folder, file), "utf8")
    expect(text).toContain(before)
    writeFileSync(
      join(folder, file),
      text.replace(before, () => after),
    )
  }

  test("another version at any of its places fails", () => {
    for (const [file, place] of [
      ["server/package.json", `"version": "${version}"`],
      ["client/package.json", `"@authwire/token": "${version}"`],
      ["package-lock.json", `"@authwire/token": "${version}"`],
      ["examples/nextjs/package-lock.json", `"@authwire/proto": "${version}"`],
      ["gen/python/pyproject.toml", `version = "${version}"`],
      ["deploy/helm/authwire/Chart.yaml", `appVersion: ${version}`],
      ["deploy/compose.yaml", `image: authwire:${version}`],
      ["docs/start/nextjs.md", `-${version}.tgz`],
    ] as const) {
      const other = place.replace(version, "9.8.7")
      replace(file, place, other)
      const differs = `${file} has the version 9.8.7, others ${version}`
      expect(run("ready.js", folder)).toEqual({ code: 1, output: expect.stringContaining(differs) })
      replace(file, other, place)
    }
  })

  test("a change log with what only a maintainer knows fails", () => {
    replace("CHANGELOG.md", "- ", "- The cases of test/adapter. ")
    const problem = expect.stringContaining("who do not know test/adapter")
    expect(run("ready.js", folder)).toEqual({ code: 1, output: problem })
  })

  test("a new version is written everywhere, and then only the change log lacks it", () => {
    expect(run("set-version.js", "9.8.7-rc.1", folder)).toMatchObject({ code: 0 })
    const problem = 'release: the first section of CHANGELOG.md must be "## 9.8.7-rc.1 (unreleased)" or have a date, as'
    expect(run("ready.js", folder)).toEqual({ code: 1, output: `${problem} (2026-01-31)\n` })
  })

  test("the release itself needs a date, a commit of everything, and a tag that no other commit has", () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: folder })
    const commit = () => {
      git("add", ".")
      git("commit", "--quiet", "--message=all")
    }
    git("init", "--quiet")
    commit()
    expect(run("ready.js", "--final", folder).output).toBe(`release: CHANGELOG.md has no date for ${version}\n`)
    replace("CHANGELOG.md", "(unreleased)", "(2026-01-31)")
    expect(run("ready.js", "--final", folder).output).toBe("release: some files are not committed\n")
    commit()
    git("tag", `v${version}`)
    expect(run("ready.js", "--final", folder)).toMatchObject({ code: 0 })
    git("commit", "--quiet", "--allow-empty", "--message=later")
    expect(run("ready.js", "--final", folder).output).toBe(`release: v${version} is the tag of another commit\n`)
  })
})
