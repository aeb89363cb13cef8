import { checkRequest, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { staticKey } from "@authwire/test-support/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits.js"

// To reject a call costs about as much as to answer it: somebody without a key could keep a process busy over a few connections.
const few = limits.strangerRequests
let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(() => target.close())

const unknown = staticKey(["all"]).text
const body = getUserRequest("nobody")

/** Makes calls one after the other. @returns how often each end was seen. */
async function ends(connection: AttackConnection, count: number, path: string, key?: string, message = body) {
  const seen: Record<string, number> = {}
  for (let call = 0; call < count; call++) {
    const end = await endOf(connection.open(header(path, { key }), message))
    seen[end] = (seen[end] ?? 0) + 1
  }
  return seen
}

describe.each(listeners)("a connection of HTTP/2 to the %s listener", (listener) => {
  const isOver = ({ session }: AttackConnection) => until(() => session.closed || session.destroyed)

  test.each([
    ["without a key", paths.getUser, undefined, "16 NO_ERROR"],
    ["with an unknown key", paths.getUser, unknown, "16 NO_ERROR"],
    ["with an unknown key, for pipelines", paths.pipeline, unknown, "16 NO_ERROR"],
    [
      "for a method that is none",
      "/authwire.v1.UserService/None",
      unknown,
      listener === "grpc" ? "12 NO_ERROR" : "404 NO_ERROR",
    ],
  ])("is closed after a few calls %s, and another one is answered", async (_, path, key, end) => {
    for (let round = 0; round < 2; round++) {
      const connection = attackConnection(target.url(listener))
      expect(await ends(connection, few, path, key)).toEqual({ [end]: few })
      await isOver(connection)
      connection.close()
    }
  })

  test("is not closed before calls that come at once are answered, but for very many: those may be made again", async () => {
    const connection = attackConnection(target.url(listener))
    const most = limits.strangerRequestsAtMost
    const calls = Array.from({ length: 2 * most }, () => connection.open(header(paths.getUser, { key: unknown }), body))
    const seen = await Promise.all(calls.map((call) => endOf(call)))
    const count = (end: string) => seen.filter((one) => one === end).length
    const answered = count("16 NO_ERROR")
    expect(answered + count("REFUSED_STREAM")).toBe(2 * most)
    // Connect makes something of what has come before it rejects the first.
    if (listener === "grpc") expect(answered).toBe(most)
    else expect(answered).toBeGreaterThanOrEqual(most)
    await isOver(connection)
  })

  test("with one call by a valid key stays, whatever follows", async () => {
    const connection = attackConnection(target.url(listener))
    expect(await ends(connection, 1, paths.getUser, target.keys.all)).toEqual({ "5 NO_ERROR": 1 })
    expect(await ends(connection, 3 * few, paths.getUser, unknown)).toEqual({ "16 NO_ERROR": 3 * few })
    expect(await ends(connection, 1, paths.getUser, target.keys.all)).toEqual({ "5 NO_ERROR": 1 })
    connection.close()
  })

  test("stays while it asks for health only", async () => {
    const connection = attackConnection(target.url(listener))
    expect(await ends(connection, 3 * few, paths.check, undefined, checkRequest(""))).toEqual({ "0 NO_ERROR": 3 * few })
    connection.close()
  })
})
