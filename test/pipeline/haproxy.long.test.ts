import { createAuthwireClient } from "@authwire/client"
import { startHaProxy } from "@authwire/test-support/connections/haproxy.js"
import { outcome, pipelineClient, startReplicas, tally } from "@authwire/test-support/connections/pipeline.js"
import { createDatabase, describeServer } from "@authwire/test-support/databases/databases.js"
import { withHeldRow } from "@authwire/test-support/databases/held-row.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { findProgram } from "@authwire/test-support/machine/tools.js"
import { expect, test } from "@jest/globals"
import { clientOver } from "../../client/src/client.js"
import { grpcTransportOf } from "../../client/src/transport/grpc.js"
import { load } from "./load.js"

const later = endsAfterEach()
const program = findProgram("haproxy")

/** The pause between two checks of a connection by the client, in milliseconds. */
const checkMs = 100
/** Active calls wait for the database while a replica drains. */
const timeoutMs = 60_000

describeServer("two replicas behind HAProxy", (target) => {
  ;(program === undefined ? test.skip : test)(
    "are restarted in turn under load: no call fails, and none is repeated, however often clients check their connections",
    async () => {
      const database = await createDatabase(target)
      later(() => database.drop())
      const replicas = await startReplicas(
        [database.url, database.url],
        ["--shutdown-grace-ms=60000", "--database-statement-timeout-ms=60000"],
      )
      later(() => replicas.stop())
      const proxy = await startHaProxy(program as string, replicas.hosts, replicas.port)
      later(proxy.stop)
      const url = `http://127.0.0.1:${proxy.port}`
      const transport = grpcTransportOf({ url, checkMs })
      const clients = [
        pipelineClient({ url, checkMs, timeoutMs }),
        pipelineClient({ url, checkMs, timeoutMs, connections: 2 }),
        { ...clientOver({ transport, address: "the service" }, { url, timeoutMs }), close: transport.close },
      ]
      const loads = clients.map((client) => load(client, 4))
      const goOn = () => Promise.all(loads.map((one) => one.goesOn()))
      const held: string[] = []
      const servers = [replicas.server(0), replicas.server(1)]
      try {
        for (const index of [0, 1, 0, 1]) {
          await goOn()
          const other = createAuthwireClient({ url: replicas.server(1 - index).grpcUrl })
          await withHeldRow({ database, adapter: other.adapter }, async ({ requests, waiting, release }) => {
            const calls = clients.map(({ users }, client) => outcome(users.updateUser(requests[client]!)))
            await waiting(calls.length)
            const restarted = replicas.restart(index)
            // Much longer than the pause between two checks.
            for (let round = 0; round < 3; round++) await goOn()
            await release()
            held.push(...(await Promise.all(calls)))
            await restarted
          })
          other.close()
          servers.push(replicas.server(index))
        }
        await goOn()
      } finally {
        const ends = await Promise.all(loads.map((one) => one.stop()))
        expect(ends.map(({ outcomes }) => Object.keys(outcomes))).toEqual(clients.map(() => ["OK"]))
      }
      expect(tally(held)).toEqual({ OK: held.length })
      await replicas.stop()
      const executions = servers.map((server) => server.log().split("UserService/UpdateUser").length - 1)
      expect(executions.reduce((sum, one) => sum + one)).toBe(held.length)
    },
  )
})
