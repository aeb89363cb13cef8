import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf, takesNothing } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe("a pipeline whose deadline passes while a response is being sent", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test.each(listeners)("%s listener: its status follows the response", async (listener) => {
    const connection = attackConnection(target.url(listener), takesNothing)
    ends(async () => connection.close())
    const call = connection.open({ ...header(paths.pipeline, { key: target.keys.all }), "grpc-timeout": "200m" })
    const passed = performance.now() + 400
    while (performance.now() < passed) await connection.seen()
    expect(call.open).toBe(true)
    connection.session.settings({ initialWindowSize: 65_535 })
    expect(await endOf(call)).toBe("4 NO_ERROR")
    expect(call.receivedBytes).toBeGreaterThan(0)
  })
})
