import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { codeBelow, runBlock } from "@authwire/test-support/applications/pages.js"
import { pipelineClient } from "@authwire/test-support/connections/pipeline.js"
import {
  createDatabase,
  describeServer,
  type ServerEngine,
  serviceServer,
} from "@authwire/test-support/databases/databases.js"
import { earlierVersions, hasVersions, thisVersion, type Version } from "@authwire/test-support/processes/earlier.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"
import { signIns } from "./sign-ins.js"

const page = "docs/upgrading.md"
// Addresses on which nothing else listens, because a replica needs the same port after a restart.
const hosts = ["127.0.0.31", "127.0.0.32"] as const

/** An upgrade from a version on a server, with one way back. */
const upgradeFrom = (version: Version) => (target: ServerEngine) => {
  test("under the load of 16 callers no call fails, and all acknowledged rows exist", async () => {
    const database = await createDatabase(target)
    const env = { AUTHWIRE_DATABASE_URL: database.url }
    const replicas: ServerProcess[] = []
    let port = 0
    /** Starts a replica, of this version without a command, which replaces the current one. */
    const replace = async (index: 0 | 1, command?: string) => {
      const former = replicas[index]
      if (former !== undefined) expect(await former.stop()).toBe(0)
      const args = [`--grpc-addr=${hosts[index]}:${port}`, "--log-level=warn"]
      replicas[index] = await startServer({ databaseUrl: database.url, args, ...(command && { command }) })
      port = Number(new URL(replicas[index].grpcUrl).port)
    }
    for (const index of [0, 1] as const) await replace(index, version.command)
    const [status = "", up = ""] = codeBelow(page, "Upgrading")
    const pending = await runBlock(status, tmpdir(), env)

    const client = pipelineClient({ url: `dns:///authwire.localhost:${port}`, resolve: async () => hosts })
    const working = signIns(client, 16)
    let end: Awaited<ReturnType<typeof working.stop>>
    try {
      await working.goesOn()
      // The tables are migrated while both old replicas serve.
      await runBlock(up, tmpdir(), env)
      await working.goesOn()
      for (const index of [0, 1] as const) {
        await replace(index)
        await working.goesOn()
      }
      // One replica is downgraded again, on the new tables.
      await replace(0, version.command)
      await working.goesOn()
      await replace(0)
      await working.goesOn()
    } finally {
      end = await working.stop()
    }
    const { calls, outcomes, acknowledged } = end
    expect(outcomes).toEqual({ OK: calls })
    const rows = async (sql: string) => (await database.query(sql)).map(({ value }) => Buffer.from(value as Buffer))
    const users = (await rows("SELECT id AS value FROM users")).map((value) => value.toString())
    expect(users.sort()).toEqual(acknowledged.users.sort())
    const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")
    const sessions = (await rows("SELECT token_hash AS value FROM sessions")).map((value) => value.toString("hex"))
    expect(sessions.sort()).toEqual(acknowledged.sessions.map(hashOf).sort())

    // Migrates down to the tables of the earlier version.
    for (const replica of replicas) await replica.stop()
    const [down = ""] = codeBelow(page, "Going back to the previous version")
    expect(await runBlock(status, tmpdir(), env)).not.toMatch(/^pending/m)
    for (const _ of pending.matchAll(/^pending /gm)) await runBlock(down, tmpdir(), env)
    expect(await runBlock(status, tmpdir(), env)).toBe(pending)
    await database.drop()
  })
}

if (process.env.AUTHWIRE_TEST_REQUIRE === "upgrade" && !(hasVersions() && serviceServer()))
  throw new Error("this run has no server of a database, or not all versions")

// Until there is a release, replicas of this version are replaced.
for (const version of earlierVersions.length > 0 ? earlierVersions : [thisVersion])
  describeServer(
    `from ${version.name} to this version`,
    upgradeFrom(version),
    hasVersions() ? serviceServer() : undefined,
  )
