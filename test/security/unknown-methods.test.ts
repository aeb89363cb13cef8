import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { type BarePipeline, errorOf, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { tally } from "@authwire/test-support/connections/pipeline.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const canary = "awk_canary"

describe("unknown methods", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ args: ["--rate-limit=50"], tellsHeap: true })
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test.each(listeners)("in a pipeline at the %s listener: the rate limit of the key applies", async (listener) => {
    const pipeline: BarePipeline = openBarePipeline(target.url(listener), {
      // A key of its own for each, so that no call of the other one has taken its rate.
      authorization: `Bearer ${target.keys[listener === "grpc" ? "sessions" : "all"]}`,
    })
    ends(async () => pipeline.cancel())
    const calls = Array.from({ length: 500 }, (_, id) => ({ id, method: `${canary}/${id}`, message: new Uint8Array() }))
    const begun = performance.now()
    pipeline.send({ calls })
    const errors = (await pipeline.answers(calls.length)).map(errorOf)
    const { METHOD_UNKNOWN: unknown = 0, ...others } = tally(errors.map(({ reason }) => String(reason)))
    const seconds = (performance.now() - begun) / 1_000
    expect(unknown).toBeGreaterThan(0)
    expect(unknown).toBeLessThanOrEqual(50 + 50 * seconds)
    expect(others).toEqual({ RATE_LIMITED: calls.length - unknown })
    expect(errors.filter(({ message }) => message.includes(canary))).toEqual([])
  })

  test("in a pipeline, in any number: nothing of them is kept in memory", async () => {
    const pipeline = openBarePipeline(target.url("grpc"), { authorization: `Bearer ${target.keys.sessions}` })
    ends(async () => pipeline.cancel())
    const calls = Array.from({ length: 500 }, (_, id) => ({ id, method: "a/b", message: new Uint8Array() }))
    const rejected = async (times: number) => {
      for (let done = 0; done < times; done++) {
        pipeline.send({ calls })
        await pipeline.answers(calls.length)
      }
      return target.heldBytes()
    }
    const before = await rejected(8)
    expect(((await rejected(40)) - before) / (40 * calls.length)).toBeLessThan(50)
  })

  const wrong = [
    `/authwire.v1.UserService/Nope?key=${canary}`,
    `/${canary}`,
    `/${canary}/GetUser`,
    `${paths.getUser}/${canary}`,
    `${paths.getUser}?key=${canary}`,
  ]

  test.each(listeners)("at the %s listener: no output repeats the path, and the body is not read", async (listener) => {
    const connection = attackConnection(target.url(listener))
    ends(async () => connection.close())
    for (const path of wrong) {
      const call = connection.open(header(path))
      const heard: unknown[] = []
      call.stream.on("response", (fields) => heard.push(fields))
      call.stream.on("trailers", (fields) => heard.push(fields))
      call.stream.on("data", (chunk: Buffer) => heard.push(chunk.toString()))
      expect([path, await endOf(call)]).toEqual([path, expect.stringMatching(/^(12|16|404) NO_ERROR$/)])
      expect(JSON.stringify(heard)).not.toContain(canary)
    }
    const answer = await fetch(`${target.server.httpUrl}${wrong[0]}`, { method: "POST", body: "x" })
    expect(await answer.text()).not.toContain(canary)
    expect(target.server.output()).not.toContain(canary)
  })
})
