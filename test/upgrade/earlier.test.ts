import { fileURLToPath } from "node:url"
import { earlierKnows } from "@authwire/test-support/processes/earlier.js"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

test.each(["mysql", "postgres"])("when this version is the earlier one, upgrades are tested on %s", (engine) => {
  expect(earlierKnows(engine, root)).toBe(true)
})
