import { once } from "node:events"
import { mkdtempSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { type TcpProxy, tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { hasRuntimes, runJson, runtimes } from "@authwire/test-support/machine/runtimes.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { expected } from "./expected.js"
import type { SignIn, SignInOptions } from "./programs/sign-in-worker.js"
import type { SuiteOptions } from "./programs/suite.js"

/** Returns a URL whose port was closed. */
async function unreachable(): Promise<string> {
  const server = createServer()
  const port = await listen(server)
  server.close()
  await once(server, "close")
  return `http://127.0.0.1:${port}`
}

;(hasRuntimes() ? describe : describe.skip)("the adapter against a real service", () => {
  const authwire = useAuthwire(serviceDatabase())
  let silent: TcpProxy
  beforeAll(async () => {
    silent = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
    silent.hang()
    authwire.later(silent.close)
  })

  // Evaluated when the tests are defined, even if the runtimes are not installed.
  const all = hasRuntimes() ? runtimes() : []
  test.each(all.map((one) => [one.name, one.carrier, one] as const))(
    "in %s, over %s",
    async (name, carrier, { command }) => {
      const run = `${name}-${carrier}`.toLowerCase().replaceAll(" ", "-")
      const options: SuiteOptions = {
        url: carrier === "grpc" ? authwire.server.grpcUrl : authwire.server.httpUrl,
        unreachableUrl: await unreachable(),
        silentUrl: `http://127.0.0.1:${silent.port}`,
        run,
      }
      const home = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "runtime-"))
      expect(await runJson([...command, carrier, JSON.stringify(options)], home)).toEqual(expected(run))
      // The rows that remain after the program has ended.
      const users = await authwire.rows("SELECT id, email, name FROM users WHERE id LIKE ?", [`${run}-%`])
      expect(users).toEqual([{ id: `${run}-null`, email: null, name: null }])
      for (const table of ["accounts", "sessions", "authenticators"])
        expect(await authwire.rows(`SELECT user_id FROM ${table}`)).toEqual([])
    },
  )

  test("in workerd, a sign-in that cannot read the session does not prevent the sign-ins of later requests", async () => {
    const options: SignInOptions = { url: authwire.server.httpUrl, tokenUrl: await unreachable() }
    const signIns: SignIn[] = [
      { email: "ada@example.com", cookie: "a token" },
      { email: "grace@example.com", cookie: "" },
    ]
    const program = fileURLToPath(new URL("hosts/workerd-sign-ins.js", import.meta.url))
    const command = [process.execPath, program, JSON.stringify(options), JSON.stringify(signIns)]
    const home = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "runtime-"))
    expect(await runJson(command, home)).toEqual([{ code: "UNAVAILABLE" }, { created: true }])
    expect(await authwire.adapter.getUserByEmail("ada@example.com")).toBeNull()
  })
})
