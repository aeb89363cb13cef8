import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { hasHistory, lastReleases } from "../../scripts/releases.ts"

describe("the last releases", () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-releases-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: folder })
  function commit(...tags: string[]) {
    git("commit", "--quiet", "--allow-empty", `--message=${tags.join()}`, "--allow-empty-message")
    for (const tag of tags) git("tag", tag)
  }

  test("are the two newest tags of versions before this commit", () => {
    git("init", "--quiet", "--initial-branch=main")
    commit()
    expect([hasHistory(folder), lastReleases(folder)]).toEqual([true, []])
    commit("v0.9.0", "gen/go/v0.9.0")
    expect(lastReleases(folder)).toEqual([])
    commit("v0.10.0-rc.1", "vacation")
    expect(lastReleases(folder)).toEqual(["v0.9.0"])
    commit("v0.10.0")
    git("checkout", "--quiet", "-b", "fixes", "v0.9.0")
    commit("v0.9.1")
    git("checkout", "--quiet", "main")
    commit("v0.11.0")
    expect(lastReleases(folder)).toEqual(["v0.10.0", "v0.9.0"])
    commit()
    expect(lastReleases(folder)).toEqual(["v0.11.0", "v0.10.0"])
  })

  test("are not known in a clone that is shallow, nor without a history", () => {
    expect([hasHistory(folder), lastReleases(folder)]).toEqual([false, []])
    git("init", "--quiet")
    commit("v0.1.0")
    commit("v0.2.0")
    commit()
    git("clone", "--quiet", "--depth=2", `file://${folder}`, "shallow")
    const shallow = join(folder, "shallow")
    expect([hasHistory(shallow), lastReleases(shallow)]).toEqual([false, []])
  })
})
