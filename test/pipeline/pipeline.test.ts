import { UserService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import {
  type BarePipeline,
  errorOf,
  frame,
  messageOf,
  openBarePipeline,
} from "@authwire/test-support/connections/bare-pipeline.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"
import { linesOf } from "../transports/world.js"

const { getUser, createUser } = UserService.method
const { check } = Health.method
const ok = { code: "OK", reason: undefined }
const _uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const transports = ["grpc", "http"] as const
const target = serviceDatabase()

/** A call as an element of PipelineRequest.calls that fails with USER_NOT_FOUND. */
const nobody = (id: number, more: Parameters<typeof frame>[3] = {}) => frame(id, getUser, { id: "nobody" }, more)
const idsOf = (answers: readonly { id: number }[]) => answers.map(({ id }) => id).sort((a, b) => a - b)
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n)

describe.each(transports)("PipelineService.Pipeline, through the %s listener", (transport) => {
  const authwire = useAuthwire(target, { args: ["--max-message-bytes=1048576"] })
  const open = (header?: Record<string, string>) => openBarePipeline(authwire.server[`${transport}Url`], header)
  /** Opens a stream and waits for its settings. */
  const opened = async (header?: Record<string, string>): Promise<BarePipeline> => {
    const stream = open(header)
    expect((await stream.next()).settings).toBeDefined()
    return stream
  }
  const finish = async (stream: BarePipeline) => {
    stream.end()
    expect(await stream.ended).toMatchObject(ok)
  }
  const expectWell = async () => {
    const stream = await opened()
    stream.send({ calls: [nobody(1)] })
    expect(errorOf((await stream.answers(1))[0]!)).toMatchObject({ reason: "USER_NOT_FOUND" })
    await finish(stream)
  }

  test("the service sends the first message, with its settings, and sends them only once", async () => {
    const stream = open()
    expect(await stream.next()).toMatchObject({
      settings: { maxInFlight: 1024, maxMessageBytes: 1_048_576 - 65_536 },
      answers: [],
      draining: false,
    })
    stream.send({ calls: [nobody(1)] })
    const second = await stream.next()
    expect(second).toMatchObject({ answers: [{ id: 1 }], draining: false })
    expect(second.settings).toBeUndefined()
    await finish(stream)
  })

  test("a call is answered under its id, whatever the id is, and the id is free again", async () => {
    const stream = await opened()
    const id = crypto.randomUUID()
    stream.send({ calls: [frame(0, createUser, { id, name: "Zoë" })] })
    const [created] = await stream.answers(1)
    expect([created?.id, messageOf(createUser, created!).user?.name]).toEqual([0, "Zoë"])
    for (const other of [0, 0xffff_ffff, 7, 0]) {
      stream.send({ calls: [frame(other, getUser, { id })] })
      const [answer] = await stream.answers(1)
      expect([answer?.id, messageOf(getUser, answer!).user?.id]).toEqual([other, id])
    }
    await finish(stream)
  })

  test("requests without calls, and cancellations of unknown ids, have no effect", async () => {
    const stream = await opened()
    stream.send({})
    stream.send({ cancelledIds: [0, 1, 2, 0xffff_ffff] })
    stream.send({ calls: [nobody(1)], cancelledIds: [1] })
    expect(idsOf(await stream.answers(1))).toEqual([1])
    stream.send({ calls: [nobody(2)], cancelledIds: numbers(1_000, 4096).concat() })
    expect(idsOf(await stream.answers(1))).toEqual([2])
    await finish(stream)
  })

  test.each([
    "authwire.v1.UserService/NoSuch",
    "authwire.v1.NoSuchService/GetUser",
    "authwire.v1.UserService/getUser",
    "/authwire.v1.UserService/GetUser",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "authwire.v1.PipelineService/Pipeline",
    "__proto__",
    " ",
  ])("%s is no method of the service: METHOD_UNKNOWN, and the stream continues", async (method) => {
    const stream = await opened()
    const requestId = crypto.randomUUID()
    stream.send({ calls: [{ id: 1, method, header: { "x-request-id": requestId } }, nobody(2)] })
    const answers = await stream.answers(2)
    expect(idsOf(answers)).toEqual([1, 2])
    expect(errorOf(answers.find(({ id }) => id === 1)!)).toEqual({
      code: "UNIMPLEMENTED",
      message: "the service has no unary method of this name",
      reason: "METHOD_UNKNOWN",
      requestId,
      fields: [],
    })
    await finish(stream)
  })

  test("a message that cannot be decoded fails only its call", async () => {
    const stream = await opened()
    stream.send({ calls: [{ ...nobody(1), message: Uint8Array.of(0x0a, 0xff) }, nobody(2)] })
    const answers = await stream.answers(2)
    expect(errorOf(answers.find(({ id }) => id === 1)!)).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "INVALID_FIELD",
      message: "request: is not a well-formed authwire.v1.GetUserRequest",
      fields: ["request"],
    })
    expect(errorOf(answers.find(({ id }) => id === 2)!)).toMatchObject({ reason: "USER_NOT_FOUND" })
    await finish(stream)
  })

  const long = "x".repeat(256)
  test.each([
    ["an id that is active", { calls: [nobody(1), nobody(2), nobody(1)] }, "calls.id"],
    ["1025 calls", { calls: numbers(1, 1025).map((id) => nobody(id)) }, "calls"],
    ["4097 ids given up", { cancelledIds: numbers(1, 4097) }, "cancelled_ids"],
    ["a call without a method", { calls: [{ ...nobody(1), method: "" }] }, "calls[0].method"],
    ["a name of a method that is too long", { calls: [nobody(1), { ...nobody(2), method: long }] }, "calls[1].method"],
    ["a name of a header in capitals", { calls: [nobody(1, { header: { "X-Id": "1" } })] }, "calls[0].header"],
    [
      "65 headers",
      { calls: [nobody(1, { header: Object.fromEntries(numbers(0, 65).map((n) => [`${n}`, ""])) })] },
      "calls[0].header",
    ],
  ])("%s: the stream ends with INVALID_FIELD, and the error names the field", async (_, request, field) => {
    const requestId = crypto.randomUUID()
    const stream = await opened({ "x-request-id": requestId })
    stream.send(request)
    expect(await stream.ended).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "INVALID_FIELD",
      requestId,
      message: expect.stringContaining(`${field}: `),
      fields: expect.arrayContaining([field]),
    })
    expect(await linesOf(authwire.server, requestId)).toMatchObject([
      { method: "authwire.v1.PipelineService/Pipeline", transport, code: "INVALID_ARGUMENT" },
    ])
    await expectWell()
  })

  test("a stream message that cannot be decoded ends the stream with INVALID_FIELD", async () => {
    const stream = await opened()
    stream.write(Uint8Array.of(0x0a, 0xff))
    expect(await stream.ended).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "INVALID_FIELD",
      message: "request: is not a well-formed authwire.v1.PipelineRequest",
    })
    await expectWell()
  })

  test("a stream message that is too large ends the stream with RESOURCE_EXHAUSTED", async () => {
    const stream = await opened()
    stream.send({ calls: [{ ...nobody(1), message: new Uint8Array(1_048_577) }] })
    expect(await stream.ended).toMatchObject({ code: "RESOURCE_EXHAUSTED" })
    await expectWell()
  })

  test("health has the same rate limit as outside a pipeline", async () => {
    const stream = await opened()
    stream.send({ calls: numbers(1, 1000).map((id) => frame(id, check, {})) })
    const answers = await stream.answers(1000)
    const errors = answers.filter(({ outcome }) => outcome.case === "error").map(errorOf)
    expect(errors.length).toBeGreaterThan(500)
    for (const error of errors) expect(error).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "RATE_LIMITED" })
    expect(answers.length - errors.length).toBeGreaterThanOrEqual(limits.healthPerSecond)
    await finish(stream)
  })

  test("active calls are answered after the client has closed its side, then the stream is OK", async () => {
    const stream = await opened()
    stream.send({ calls: numbers(1, 100).map((id) => nobody(id)) })
    stream.end()
    expect(idsOf((await stream.rest()).flatMap(({ answers }) => answers))).toEqual(numbers(1, 100))
    expect(await stream.ended).toMatchObject(ok)
  })

  test("a timeout of 0 ms has passed already; without one, the service's maximum applies", async () => {
    const stream = await opened()
    const id = crypto.randomUUID()
    stream.send({
      calls: [frame(1, createUser, { id }, { timeoutMs: 0 }), nobody(2), nobody(3, { timeoutMs: 2 ** 32 - 1 })],
    })
    const answers = await stream.answers(3)
    const errors = numbers(1, 3).map((n) => errorOf(answers.find((one) => one.id === n)!))
    expect(errors.map(({ reason }) => reason)).toEqual(["DEADLINE_EXCEEDED", "USER_NOT_FOUND", "USER_NOT_FOUND"])
    expect(await authwire.adapter.getUser(id)).toBeNull()
    await finish(stream)
  })
})
