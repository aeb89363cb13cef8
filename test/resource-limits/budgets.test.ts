import { readFileSync } from "node:fs"
import { expect, test } from "@jest/globals"
import { limitsPage } from "../../scripts/limits-page.ts"
import { options } from "../../server/src/config/options.js"
import { limits } from "../../server/src/transport/limits/limits.js"
import { type SharedLimit, sharedLimits } from "../../server/src/util/shared-limits.js"

test("S-46: docs/limits.md is made from the limits of the code, and has each of them", () => {
  const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
  expect(read("docs/limits.md")).toBe(limitsPage())
  const source = read("scripts/limits-page.ts")
  expect(Object.keys(limits).filter((name) => !new RegExp(`\\blimits\\.${name}\\b`).test(source))).toEqual([])
})

test("S-47: the shared limits leave others as much as a key may have, and follow the options", () => {
  for (const { process, tenant, key, isQueued } of Object.values<SharedLimit>(sharedLimits)) {
    expect(tenant).toBeGreaterThanOrEqual(key)
    expect(process - tenant).toBeGreaterThanOrEqual(isQueued ? Math.floor(process / 10) : Math.min(key, process / 4))
  }
  expect(sharedLimits.connections.process).toBe(Number(options.maxConnections.default))
  expect(sharedLimits.activeCalls.process).toBe(Number(options.maxActiveCalls.default))
  expect(sharedLimits.databaseConnections.process).toBe(Number(options.databasePoolSize.default))
})
