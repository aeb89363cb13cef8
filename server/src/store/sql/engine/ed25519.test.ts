import { createPrivateKey, randomBytes, sign } from "node:crypto"
import {
  createDatabaseOn,
  describeServers,
  ownServers,
  startPrivateDatabase,
} from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import { openSource } from "../../../import/peer/open.js"
import { openDatabase } from "../index.js"
import { signature } from "./ed25519.js"

const later = endsAfterEach()

test("signs as Node does with a password of 32 bytes, the only length that Node takes", () => {
  const format = Buffer.from("302e020100300506032b657004220420", "hex")
  for (let n = 0; n < 50; n++) {
    const password = randomBytes(16).toString("hex")
    const message = randomBytes(32)
    const key = createPrivateKey({ key: Buffer.concat([format, Buffer.from(password)]), format: "der", type: "pkcs8" })
    expect(signature(password, message)).toEqual(sign(null, message, key))
  }
})

describeServers(
  "a user of %s with ed25519",
  (engine) => {
    test("connects, also to the source of an import, with its password only", async () => {
      const server = await startPrivateDatabase(engine)
      if (server === null) throw new Error(`no ${engine}`)
      later(server.remove)
      const database = await createDatabaseOn(server)
      await database.query("INSTALL SONAME 'auth_ed25519'")
      for (const [user, password] of [
        ["ada", "p"],
        ["zoe", "a password of more than 32 bytes, with 🙂"],
      ]) {
        await database.query(`CREATE USER ${user} IDENTIFIED VIA ed25519 USING PASSWORD('${password}')`)
        await database.query(`GRANT ALL ON *.* TO ${user}`)
        const as = (given: string) =>
          Object.assign(new URL(database.url), { username: user, password: encodeURIComponent(given) }).href
        const opened = await openDatabase({ url: as(password as string) })
        await opened.close()
        const source = await openSource(as(password as string))
        expect(await source.tables()).toEqual([])
        await source.close()
        await expect(openDatabase({ url: as("another") })).rejects.toMatchObject({
          cause: { code: "ER_ACCESS_DENIED_ERROR" },
        })
      }
    }, 120_000)
  },
  ownServers().filter((engine) => engine === "mariadb"),
)
