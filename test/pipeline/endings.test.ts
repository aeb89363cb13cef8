import { UserService } from "@authwire/proto"
import { errorOf, frame, messageOf, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { describeServer, serviceServer } from "@authwire/test-support/databases/databases.js"
import { withHeldRow } from "@authwire/test-support/databases/held-row.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"
import { linesOf } from "../transports/world.js"

const { getUser, updateUser } = UserService.method
const ok = { code: "OK", reason: undefined }
const transports = ["grpc", "http"] as const

describeServer("waiting calls of a pipeline", (target) => {
  const authwire = useAuthwire(target)

  describe.each(transports)("through the %s listener", (transport) => {
    const opened = async () => {
      const stream = openBarePipeline(authwire.server[`${transport}Url`])
      expect((await stream.next()).settings).toBeDefined()
      return stream
    }
    /** An id for a call, and the header with this id. */
    const named = () => {
      const id = crypto.randomUUID()
      return { id, header: { "x-request-id": id } }
    }

    test("are answered after calls that need not wait", async () => {
      await withHeldRow(authwire, async ({ request, waiting, release }) => {
        const stream = await opened()
        stream.send({ calls: [frame(1, updateUser, request), frame(2, getUser, { id: request.id })] })
        expect((await stream.answers(1))[0]?.id).toBe(2)
        await waiting(1)
        await release()
        const [answer] = await stream.answers(1)
        expect([answer?.id, messageOf(updateUser, answer!).user?.name]).toEqual([1, request.name])
        stream.end()
        expect(await stream.ended).toMatchObject(ok)
      })
    })

    test("end with DEADLINE_EXCEEDED at their deadline, and their id is free again", async () => {
      await withHeldRow(authwire, async ({ request }) => {
        const stream = await opened()
        const { id, header } = named()
        stream.send({ calls: [frame(1, updateUser, request, { header, timeoutMs: 100 })] })
        expect(errorOf((await stream.answers(1))[0]!)).toMatchObject({
          code: "DEADLINE_EXCEEDED",
          reason: "DEADLINE_EXCEEDED",
          requestId: id,
        })
        expect(await linesOf(authwire.server, id)).toMatchObject([{ code: "DEADLINE_EXCEEDED" }])
        stream.send({ calls: [frame(1, getUser, { id: request.id })] })
        expect(messageOf(getUser, (await stream.answers(1))[0]!).user?.id).toBe(request.id)
        stream.end()
        expect(await stream.ended).toMatchObject(ok)
      })
    })

    test("that are cancelled after the client has closed its side do not delay the end of the stream", async () => {
      await withHeldRow(authwire, async ({ requests: [first, second], waiting }) => {
        const stream = await opened()
        const { id, header } = named()
        stream.send({ calls: [frame(2, updateUser, second)] })
        await waiting(1)
        stream.send({ calls: [frame(1, updateUser, first, { header, timeoutMs: 100 })], cancelledIds: [2] })
        stream.end()
        expect((await stream.rest()).flatMap(({ answers }) => answers.map((answer) => answer.id))).toEqual([1])
        expect(await linesOf(authwire.server, id)).toMatchObject([{ code: "DEADLINE_EXCEEDED" }])
        expect(await stream.ended).toMatchObject(ok)
      })
    })

    test.each([
      ["that is given up whole", (stream: ReturnType<typeof openBarePipeline>) => stream.cancel(), "CANCELLED"],
      [
        "that breaks a rule",
        (stream: ReturnType<typeof openBarePipeline>) => stream.write(Uint8Array.of(0x0a, 0xff)),
        "INVALID_ARGUMENT",
      ],
    ])("of a stream %s are CANCELLED, each with its line in the log", async (_, breakIt, code) => {
      await withHeldRow(authwire, async ({ requests, waiting }) => {
        const stream = await opened()
        const calls = requests.map((request) => ({ request, ...named() }))
        stream.send({ calls: calls.map(({ request, header }, n) => frame(n, updateUser, request, { header })) })
        await waiting(3)
        breakIt(stream)
        expect(await stream.ended).toMatchObject({ code })
        for (const { id } of calls)
          expect(await linesOf(authwire.server, id)).toMatchObject([{ transport: "pipeline", code: "CANCELLED" }])
      })
    })
  })
})

describe("when the service is about to stop", () => {
  const target = serviceServer() ?? "sqlite"
  const authwire = useAuthwire(target)

  describe.each(transports)("through the %s listener", (transport) => {
    const startAndOpen = async () => {
      const server = await startServer({ databaseUrl: authwire.database.url })
      const stream = openBarePipeline(server[`${transport}Url`])
      expect((await stream.next()).settings).toBeDefined()
      return { server, stream }
    }

    test("it sends draining, and executes further calls until the client closes its side", async () => {
      const { server, stream } = await startAndOpen()
      const stopped = server.stop()
      expect(await stream.next()).toMatchObject({ draining: true, answers: [] })
      // Immediately, because the service waits only a second for a client without active calls.
      for (const id of [1, 2, 3]) stream.send({ calls: [frame(id, getUser, { id: "nobody" })] })
      stream.end()
      const answers = await stream.answers(3)
      expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2, 3])
      for (const answer of answers) {
        expect(errorOf(answer)).toMatchObject({ code: "NOT_FOUND", reason: "USER_NOT_FOUND" })
      }
      expect(await stream.ended).toMatchObject(ok)
      expect(await stopped).toBe(0)
    })

    ;(target === "sqlite" ? test.skip : test)("waiting calls are answered", async () => {
      const { server, stream } = await startAndOpen()
      await withHeldRow(authwire, async ({ request, waiting, release }) => {
        stream.send({ calls: [frame(1, updateUser, request)] })
        await waiting(1)
        const stopped = server.stop()
        expect(await stream.next()).toMatchObject({ draining: true })
        await release()
        expect(messageOf(updateUser, (await stream.answers(1))[0]!).user?.id).toBe(request.id)
        stream.end()
        expect(await stream.ended).toMatchObject(ok)
        expect(await stopped).toBe(0)
      })
    })
  })
})
