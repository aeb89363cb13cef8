import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

test("make clean removes what the compiler has written, so that the next build writes everything again", async () => {
  const { references } = JSON.parse(readFileSync(`${root}/tsconfig.json`, "utf8")) as { references: { path: string }[] }
  const folder = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "clean-"))
  const results = references.flatMap(({ path }) => [`${path}/dist/index.js`, `${path}/tsconfig.tsbuildinfo`])
  for (const result of results) {
    mkdirSync(join(folder, result, ".."), { recursive: true })
    writeFileSync(join(folder, result), "")
  }
  await promisify(execFile)("make", [`--file=${root}/Makefile`, "clean"], { cwd: folder })
  expect(results.filter((result) => existsSync(join(folder, result)))).toEqual([])
})
