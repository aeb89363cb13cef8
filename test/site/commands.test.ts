import { rmSync } from "node:fs"
import { blocksOf, folderWithCheckout } from "@authwire/test-support/applications/pages.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { placedAt } from "./placements.js"
import { printed, runPrinted } from "./printed.js"

describe("the commands of the pages", () => {
  const folder = folderWithCheckout()
  const authwire = useAuthwire("sqlite")
  let empty: TestDatabase

  beforeAll(async () => {
    empty = await createDatabase("sqlite")
  })
  afterAll(async () => {
    await empty.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test("are all that are placed here", () => {
    const here = printed.map(([page, number]) => `${page} ${number}`)
    expect(here.sort()).toEqual(
      placedAt("test/site/printed.ts")
        .map((one) => one.join(" "))
        .sort(),
    )
  })

  for (const [page, number, output] of printed) {
    const { code = "" } = blocksOf(page)[number] ?? {}
    const runnable = ["curl", "grpcurl"].every((program) => !code.includes(`${program} `) || hasTool(program))
    ;(runnable ? test : test.skip)(`${page}, block ${number}`, async () => {
      const text = await runPrinted(page, number, {
        folder,
        grpc: new URL(authwire.server.grpcUrl).host,
        http: new URL(authwire.server.httpUrl).host,
        adapter: authwire.adapter,
        databaseUrl: authwire.database.url,
        emptyUrl: empty.url,
      })
      expect(text).toMatch(output)
    })
  }
})
