import http2 from "node:http2"
import { UserService } from "@authwire/proto"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { whileFull } from "@authwire/test-support/processes/full.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"

describeServer("calls that are cancelled before they are rejected", (target) => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire(target, ["--max-active-calls=2", "--database-statement-timeout-ms=30000"])
  })
  afterAll(() => authwire.close())

  test.each([["grpcUrl"], ["httpUrl"]] as const)("at the listener of %s do not change the limit", async (transport) => {
    const { createUser } = UserService.method
    await whileFull(authwire, async () => {
      for (let round = 0; round < 20; round++) {
        const session = http2.connect(authwire.server[transport])
        session.on("error", () => {})
        const gone = Array.from({ length: 50 }, async (_, index) => {
          const stream = session.request({
            ":method": "POST",
            ":path": `/${createUser.parent.typeName}/${createUser.name}`,
            "content-type": "application/grpc",
            te: "trailers",
          })
          stream.on("error", () => {})
          const closed = new Promise((resolve) => stream.once("close", resolve))
          // Some before their rejection, some during it, some after it.
          setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), 5 + index)
          await closed
        })
        if (round % 2 === 0) await Promise.all(gone)
        session.destroy()
      }
    })
    expect((await authwire.client.users.createUser({})).user?.id).toBeDefined()
  })
})
