import { existsSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { scripts, sidesFolder } from "./child.js"

test.each(scripts)("the script %s exists", (script) => {
  expect(existsSync(new URL(script, sidesFolder))).toBe(true)
})
