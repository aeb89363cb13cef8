import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const commands = blocksOf("docs/security.md").filter(
  ({ language, code }) => language === "sh" && /-cacert|openssl/.test(code),
)
const withTools = ["openssl", "grpcurl", "curl"].every(hasTool) ? test : test.skip

/** Runs the blocks in their order. The service listens on free ports, and in a process that this test ends. */
describe("the commands of docs/security.md for certificates", () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-certificates-"))
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase("sqlite")
  })
  afterAll(async () => {
    await database.drop()
    rmSync(folder, { recursive: true })
  })

  /** Runs the parts of a block before, in and after the service that it starts. Returns what the last part prints. */
  async function runAround(code: string, ask: string): Promise<string> {
    const [before = "", serve = "", after = ""] = code.split(/^authwire serve (.*)\n/m)
    await runBlock(before, folder)
    const args = serve.replaceAll(/\[::\]:\d+/g, "127.0.0.1:0").split(" ")
    const server: ServerProcess = await startServer({ databaseUrl: database.url, keys: false, args, folder })
    try {
      const there = (text: string) =>
        text
          .replaceAll("127.0.0.1:50051", new URL(server.grpcUrl).host)
          .replaceAll("127.0.0.1:8080", new URL(server.httpUrl).host)
      return await runBlock(there(after + ask), folder)
    } finally {
      await server.stop()
    }
  }

  withTools("an authority and the certificate of the service, and then one of a client", async () => {
    const [setUp, ask, ofClients, ...others] = commands.map(({ code }) => code)
    expect(others).toEqual([])
    expect(await runAround(String(setUp), String(ask))).toMatch(/^ready$[\s\S]*^authwire\.v1\.UserService$/m)
    expect(await runAround(String(ofClients), "")).toMatch(/^authwire\.v1\.UserService$/m)
  })
})
