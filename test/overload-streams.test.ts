import { once } from "node:events"
import http2 from "node:http2"
import { UserService } from "@authwire/proto"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { type Authwire, startAuthwire } from "./support/authwire.js"
import { describeServers } from "./support/databases.js"
import { whileFull } from "./support/full.js"

describeServers("a connection whose calls are refused, on %s", (target) => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire(target, ["--max-active-calls=2"])
  })
  afterAll(() => authwire.close())

  test.each([["grpcUrl"], ["httpUrl"]] as const)(
    "may open few streams for a while, at the door of %s",
    async (door) => {
      const { createUser } = UserService.method
      const session = http2.connect(authwire.server[door])
      await once(session, "remoteSettings")
      const told: (number | undefined)[] = []
      session.on("remoteSettings", ({ maxConcurrentStreams }) => told.push(maxConcurrentStreams))
      const call = () =>
        new Promise<string>((resolve) => {
          const stream = session.request({
            ":method": "POST",
            ":path": `/${createUser.parent.typeName}/${createUser.name}`,
            "content-type": "application/grpc",
            te: "trailers",
          })
          let status: unknown
          const note = (headers: http2.IncomingHttpHeaders) => {
            status = headers["grpc-status"] ?? status
          }
          stream.on("response", note).on("trailers", note)
          stream.on("close", () => resolve(String(status)))
          stream.resume()
          stream.end(Buffer.alloc(5))
        })
      await whileFull(authwire, async () => {
        expect(await call()).toBe("8")
        expect(told).toEqual([8])
        // Those that must wait for a stream are refused like the others.
        expect(new Set(await Promise.all(Array.from({ length: 40 }, call)))).toEqual(new Set(["8"]))
      })
      if (told.length < 2) await once(session, "remoteSettings")
      expect(told).toEqual([8, 1_000])
      expect(await call()).toBe("0")
      session.close()
    },
  )
})
