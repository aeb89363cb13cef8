import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The contracts, which are read as a whole. */
const contracts = /^(server\/src\/store\/(store|types)\.ts|proto\/.*\.proto)$/

test("every written file of code has fewer than 300 lines, except for contracts", () => {
  const kinds = ["ts", "tsx", "js", "css", "go", "py", "java", "rs", "sh"].map((kind) => `*.${kind}`)
  const { stdout } = spawnSync("git", ["ls-files", "--", ...kinds, ":!gen/"], { cwd: root, encoding: "utf8" })
  const files = stdout.split("\n").filter((file) => file !== "" && !contracts.test(file))
  expect(files.length).toBeGreaterThan(1_000)
  const long = files.filter((file) => readFileSync(join(root, file), "utf8").split("\n").length > 300)
  expect(long).toEqual([])
})
