import { Code } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { readinessSwitch } from "../health/readiness.js"
import { healthService } from "./health.js"

function list(services: number) {
  const serviceNames = Array.from({ length: services }, (_, n) => `a.Service${n}`)
  return healthService({ readiness: readinessSwitch(), serviceNames }).list({} as never, {} as never, {} as never)
}

test("List names at most 100 services, with the whole service", async () => {
  expect(Object.keys((await list(99)).statuses ?? {})).toHaveLength(100)
  await expect(list(100)).rejects.toMatchObject({ code: Code.ResourceExhausted })
})
