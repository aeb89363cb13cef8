import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { codeBelow, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabaseOn, ownServers, startPrivateDatabase } from "@authwire/test-support/databases/databases.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"
import { writeClientOptions } from "./options.js"
import { expectSignedIn, signUp } from "./person.js"

const canRun = ownServers().includes("mariadb") && hasTool("mariadb-backup")

;(canRun ? test : test.skip)(
  "a server of MariaDB is restored from its files, and sign-in continues",
  async () => {
    const [backUp = "", restore = ""] = codeBelow("docs/backup.md", "Copying the files of the whole server")
    const folder = mkdtempSync(join(tmpdir(), "authwire-backup-"))
    const mariadb = await startPrivateDatabase("mariadb")
    if (mariadb === null) throw new Error("no mariadb on the path")
    const database = await createDatabaseOn(mariadb)
    writeClientOptions(folder, database.url, ["[mariadb-backup]", `datadir=${mariadb.dataFolder}`])

    const first = await startServer({ databaseUrl: database.url })
    const writer = createAuthwireClient({ url: first.grpcUrl })
    const before = await signUp(writer.adapter, "before")
    await runBlock(backUp, folder)
    const after = await signUp(writer.adapter, "after")
    writer.close()
    await first.stop()

    await mariadb.kill()
    for (const name of readdirSync(mariadb.dataFolder)) rmSync(join(mariadb.dataFolder, name), { recursive: true })
    await runBlock(restore, folder)
    await mariadb.start()

    const second = await startServer({ databaseUrl: database.url })
    const reader = createAuthwireClient({ url: second.grpcUrl })
    await expectSignedIn(reader.adapter, before)
    expect(await reader.adapter.getSessionAndUser(after.sessionToken)).toBeNull()
    await expectSignedIn(reader.adapter, await signUp(reader.adapter, "next"))
    reader.close()
    await second.stop()
    await mariadb.remove()
    rmSync(folder, { recursive: true, force: true })
  },
  120_000,
)
