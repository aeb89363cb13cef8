import { UserService } from "@authwire/proto"
import { type BarePipeline, frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { describeServer } from "@authwire/test-support/databases/databases.js"
import { type HeldRow, withHeldRow } from "@authwire/test-support/databases/held-row.js"
import { type Heap, heapTold, openHeap } from "@authwire/test-support/machine/heap.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, expect, test } from "@jest/globals"

const { updateUser } = UserService.method
const mebibyte = 2 ** 20
/** The limit for all requests of one connection. */
const budgetBytes = 10 * mebibyte
const header = Object.fromEntries(Array.from({ length: 63 }, (_, n) => [`x-${n}`, "x".repeat(8_000)]))

describeServer("waiting calls of a pipeline", (target) => {
  const authwire = useAuthwire(target, { env: heapTold })
  let heap: Heap
  beforeAll(async () => {
    heap = await openHeap(authwire.server)
    authwire.later(async () => heap.close())
  })

  const withPipeline = (work: (pipeline: BarePipeline, row: HeldRow) => Promise<void>) =>
    withHeldRow(authwire, async (row) => {
      const pipeline = openBarePipeline(authwire.server.grpcUrl)
      try {
        expect((await pipeline.next()).settings).toBeDefined()
        await work(pipeline, row)
      } finally {
        pipeline.cancel()
      }
    })

  test("their headers count against the request limit of a connection", () =>
    withPipeline(async (pipeline, { request, waiting, release }) => {
      const fitting = Math.floor(budgetBytes / (63 * 8_000)) - 1
      const send = (from: number, to: number) => {
        for (let id = from; id <= to; id++) pipeline.send({ calls: [frame(id, updateUser, request, { header })] })
      }
      const areAnswered = async () => {
        for (const { outcome } of await pipeline.answers(fitting)) expect(outcome.case).toBe("message")
      }
      send(1, fitting)
      await waiting(1)
      await release()
      await areAnswered()
      // Finished calls have released their share.
      send(1, fitting)
      await areAnswered()
    }))

  test("a client that sends more than that while they wait is disconnected", () =>
    withPipeline(async (pipeline, { request, waiting }) => {
      pipeline.send({ calls: [frame(0, updateUser, request)] })
      await waiting(1)
      for (let id = 1; id <= 30; id++) pipeline.send({ calls: [frame(id, updateUser, request, { header })] })
      expect(await pipeline.ended).toMatchObject({ code: "RESOURCE_EXHAUSTED" })
    }))

  test("they do not retain the messages in which they arrived", () =>
    withPipeline(async (pipeline, { request, waiting }) => {
      const filler = { id: 1_000_000, method: "no/method", message: new Uint8Array(mebibyte) }
      // They concern one user, so that they wait outside the database, before and after they are read.
      pipeline.send({ calls: [frame(0, updateUser, request)] })
      await waiting(1)
      const before = await heap.usedBytes()
      const count = 60
      for (let id = 1; id <= count; id++) {
        pipeline.send({ calls: [frame(id, updateUser, request), filler] })
        await pipeline.answers(1)
      }
      expect(((await heap.usedBytes()) - before) / count).toBeLessThan(mebibyte / 4)
    }))
})
