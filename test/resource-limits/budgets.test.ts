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
  for (const { worker, tenant, key, inTurns } of Object.values<SharedLimit>(sharedLimits)) {
    expect(tenant).toBeGreaterThanOrEqual(key)
    expect(worker - tenant).toBeGreaterThanOrEqual(inTurns ? Math.floor(worker / 10) : Math.min(key, worker / 4))
  }
  expect(sharedLimits.connections.worker).toBe(Number(options.maxConnections.default))
  expect(sharedLimits.activeCalls.worker).toBe(Number(options.maxActiveCalls.default))
  expect(sharedLimits.databaseConnections.worker).toBe(Number(options.databasePoolSize.default))
})
