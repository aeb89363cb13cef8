import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

test("no caller is spread: the copy of a call would lack its tenant and its owner, which are getters", () => {
  const spread = String.raw`\{ *\.\.\.(call|caller|waiter|writer)\b`
  const files = ["server/src", ":!*.test.ts"]
  const { status, stdout } = spawnSync("git", ["grep", "-nE", spread, "--", ...files], { cwd: root, encoding: "utf8" })
  // 1: nothing was found.
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
})
