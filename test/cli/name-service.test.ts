import { createDatabase, describeServer, serviceServer } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, startServer } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

/** For NODE_OPTIONS: a name service for one name with two addresses, whose response takes `ms` milliseconds. */
const nameService = (ms: number) => {
  const program = `
    import dns from "node:dns/promises"
    import { syncBuiltinESMExports } from "node:module"
    import { setTimeout } from "node:timers/promises"
    const { lookup } = dns
    dns.lookup = (host, options) =>
      host === "members.test" ? setTimeout(${ms}, [{ address: "127.0.0.1" }, { address: "127.0.0.1" }]) : lookup(host, options)
    syncBuiltinESMExports()`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}

describeServer(
  "a slow name service, and a host name of members",
  (target) => {
    const named = async () => {
      const database = await createDatabase(target)
      later(database.drop)
      const url = new URL(database.url)
      const { port, hostname } = url
      url.hostname = "members.test"
      return { url: url.href, address: `${hostname}:${port || 3306}` }
    }

    test("is waited for, and the members are used", async () => {
      const { url, address } = await named()
      const server = await startServer({ databaseUrl: url, env: nameService(1_500) })
      expect(server.log()).toMatch(new RegExp(`"member":"${address}".*accepts writes: using it`))
      expect(await server.stop()).toBe(0)
    })

    test("that exceeds the connect timeout: one line that names the option, exit code 1", async () => {
      const { url } = await named()
      const args = ["migrate", "status", `--database-url=${url}`, "--database-connect-timeout-ms=300"]
      const { code, stderr } = await run(args, nameService(3_000))
      expect(stderr).toMatch(
        /^authwire: cannot open the database at mysql:.*members\.test.* \(the name service has not resolved members\.test within 300 ms\): --database-connect-timeout-ms sets how long this may take\n$/,
      )
      expect(code).toBe(1)
    })
  },
  serviceServer(["mysql", "mariadb"]),
)
