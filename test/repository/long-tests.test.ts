import { globSync } from "node:fs"
import { matchesGlob } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"
import { longTests } from "../../scripts/long-tests.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const all = globSync("{bench,fuzz,test,examples/express/src,{client,server,token}/src}/**/*.long.test.ts", {
  cwd: root,
  exclude: ["**/node_modules/**"],
})

test("every long test is in the table of scripts/long-tests.ts", () => {
  expect(all.length).toBeGreaterThan(10)
  expect(all.filter((file) => !Object.keys(longTests).some((name) => matchesGlob(file, name)))).toEqual([])
})

test.each(Object.keys(longTests))("%s is a test, or a target of make", (name) => {
  expect(name.includes("/") ? globSync(name, { cwd: root }) : ["site", "release-packages"]).not.toEqual([])
})

test.each(Object.values(longTests).flat())("%s matches a file", (pattern) => {
  expect(globSync(pattern, { cwd: root })).not.toEqual([])
})
