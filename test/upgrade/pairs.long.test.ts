import { cpSync, mkdtempSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { runJson } from "@authwire/test-support/machine/runtimes.js"
import { earlierVersions, hasVersions, thisVersion } from "@authwire/test-support/processes/earlier.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"
import { expected } from "../runtimes/expected.js"

const programs = fileURLToPath(new URL("../runtimes/programs", import.meta.url))
const others = earlierVersions.flatMap((version) => [
  { client: version, server: thisVersion },
  { client: thisVersion, server: version },
])

/** The pairs of the table in docs/stability.md. */
const pairs = [{ client: thisVersion, server: thisVersion }, ...others].flatMap(({ client, server }) =>
  (["grpc", "fetch"] as const).map((carrier) => ({ client, server, carrier })),
)

;(hasVersions() ? test : test.skip).each(pairs)(
  "the client of $client.name and the service of $server.name over $carrier: every method of the adapter",
  async ({ client, server, carrier }) => {
    // The program finds the client that is installed in its folder.
    cpSync(programs, client.client, { recursive: true })
    const database = await createDatabase(serviceDatabase())
    const service = await startServer({ databaseUrl: database.url, command: server.command })
    const silent = await tcpProxy(Number(new URL(service.grpcUrl).port))
    silent.hang()
    const options = {
      url: carrier === "grpc" ? service.grpcUrl : service.httpUrl,
      unreachableUrl: `http://127.0.0.1:${await freePort()}`,
      silentUrl: `http://127.0.0.1:${silent.port}`,
      run: "pair",
    }
    const home = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "pair-"))
    try {
      const command = [process.execPath, join(client.client, "process.ts"), carrier, JSON.stringify(options)]
      expect(await runJson(command, home)).toEqual(expected("pair"))
    } finally {
      await silent.close()
      await service.stop()
      await database.drop()
    }
  },
)
