import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newUser, range } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openSqlStore } from "../../index.js"

/** What PostgreSQL sends to a connection when it shuts down (ErrorResponse), and when it is ready for queries (ReadyForQuery). */
const terminating = message("E", "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")
const ready = message("Z", "I")

function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.byteLength(body) + 4)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)])
}

const isThere = databaseTargets().includes("postgres")
if (isThere) {
  test("a server that shuts down as soon as a connection is ready does not end the process", async () => {
    const database = await createStoreDatabase("postgres")
    const { hostname, port } = new URL(database.url)
    let terminates = false
    let terminated = 0
    const proxy = createServer((near) => {
      const far = connect(Number(port || 5432), hostname)
      near.pipe(far)
      far.on("data", (chunk) => {
        if (!terminates || !chunk.includes(ready)) return near.write(chunk)
        // In one chunk, so that both are parsed in the same turn of the event loop.
        terminated++
        return near.end(Buffer.concat([chunk, terminating]))
      })
      for (const socket of [near, far]) {
        socket.on("error", () => {})
        socket.on("close", () => {
          near.destroy()
          far.destroy()
        })
      }
    })
    await once(proxy.listen(0, "127.0.0.1"), "listening")
    const url = Object.assign(new URL(database.url), { host: `127.0.0.1:${(proxy.address() as AddressInfo).port}` })
    const store = await openSqlStore({ url: url.href, encryptionKeys, poolSize: 4 })
    const user = newUser()
    await store.users.create(anyone, user)
    try {
      terminates = true
      // More calls at the same time than there are open connections. An error event without a listener fails the test.
      const calls = range(8).map(() => store.users.count(anyone, {}))
      const outcomes = await Promise.allSettled(calls)
      expect(terminated).toBeGreaterThan(0)
      expect(outcomes.map(({ status }) => status)).toContain("rejected")
      terminates = false
      expect(await store.users.get(anyone, user.id)).toEqual(user)
    } finally {
      await store.close()
      proxy.close()
      await database.drop()
    }
  })
} else test.skip("needs PostgreSQL", () => {})
