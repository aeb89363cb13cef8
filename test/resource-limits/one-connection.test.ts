import { EventService, FollowRequestSchema, SessionCacheService } from "@authwire/proto"
import { enveloped, header, pathOf, paths } from "@authwire/test-support/attack/requests.js"
import { type AttackStream, attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners } from "@authwire/test-support/attack/target.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"
import { sharedLimits } from "../../server/src/util/shared-limits.js"

const keys = Array.from({ length: 12 }, () => staticKey(["all"]))
const [watch, follow] = [pathOf(EventService.method.watch), pathOf(SessionCacheService.method.follow)]
const ping = enveloped(toBinary(FollowRequestSchema, create(FollowRequestSchema, { maxStaleMs: 1_000, nonce: 1n })))

// A gateway carries the calls of all its clients over one connection, and so does a channel of many languages.
describe.each(listeners)("one connection to the %s listener", (listener) => {
  let server: ServerProcess
  let stop: () => Promise<void>
  beforeAll(async () => {
    const database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: JSON.stringify(keys.map(({ entry }) => entry)) }
    server = await startServer({ databaseUrl: database.url, keys: false, env })
    stop = async () => {
      await server.stop("SIGKILL")
      await database.drop()
    }
  })
  afterAll(() => stop())
  const ends = endsAfterEach()

  function connect() {
    const connection = attackConnection(listener === "grpc" ? server.grpcUrl : server.httpUrl)
    ends(async () => connection.close())
    /** Opens a stream of a method with a key, and sends a message that the service answers. */
    const open = (path: string, key?: string): AttackStream => {
      const stream = connection.open(header(path, { key }))
      if (path === follow) stream.stream.write(ping)
      if (path === watch) stream.stream.end(enveloped(Buffer.alloc(0)))
      return stream
    }
    /** Returns whether a stream is rejected, and if so for which reason. */
    const rejection = async (path: string, key?: string) => {
      const one = open(path, key)
      const details: string[] = []
      const note = (fields: Record<string, unknown>) => {
        const bytes = Buffer.from(String(fields["grpc-status-details-bin"] ?? ""), "base64")
        details.push(...(bytes.toString("latin1").match(/[A-Z]+(_[A-Z]+)+|OVERLOADED/g) ?? []))
      }
      one.stream.on("response", note).on("trailers", note)
      await until(() => !one.open || one.receivedBytes > 0)
      const result = one.open ? "none" : `${await endOf(one)} ${details}`
      one.stream.close()
      return result
    }
    return { connection, open, rejection }
  }
  const areServed = (streams: readonly AttackStream[]) =>
    until(() => {
      expect(streams.filter(({ open }) => !open).map(({ status }) => status)).toEqual([])
      return streams.every(({ receivedBytes }) => receivedBytes > 0)
    })

  test("S-47: carries the pipelines, session caches and events of twelve keys", async () => {
    const { open } = connect()
    const all = [paths.pipeline, follow, watch]
    await areServed(keys.flatMap(({ text }) => all.flatMap((path) => [open(path, text), open(path, text)])))
  })

  test("S-47: carries all the streams of events that a key may have, and rejects a further one", async () => {
    const { open, rejection } = connect()
    const [one, other] = keys.map(({ text }) => text)
    const streams = Array.from({ length: sharedLimits.eventStreams.key }, () => open(watch, one))
    await areServed(streams)
    expect(await rejection(watch, one)).toBe("8 NO_ERROR TOO_MANY_CALLS")
    await areServed([open(watch, other)])
    streams[0]?.stream.close()
    await until(async () => (await rejection(watch, one)) === "none")
  })

  test("S-47: the pipelines of a key are limited over all its connections", async () => {
    const [first, second] = [connect(), connect()]
    const [one, other] = keys.map(({ text }) => text)
    const all = Array.from({ length: sharedLimits.pipelines.key }, (_, n) =>
      (n < limits.maxConcurrentStreams / 2 ? first : second).open(paths.pipeline, one),
    )
    await areServed(all)
    expect(await first.rejection(paths.pipeline, one)).toBe("8 NO_ERROR OVERLOADED")
    await areServed([second.open(paths.pipeline, other), first.open(watch, one)])
    first.connection.close()
    await until(async () => (await second.rejection(paths.pipeline, one)) === "none")
  })

  test("S-39: without a key holds no stream", async () => {
    const { connection, rejection } = connect()
    for (const path of [paths.pipeline, follow, watch])
      expect(await rejection(path)).toBe("16 NO_ERROR API_KEY_MISSING")
    expect(connection.openStreams).toBe(0)
  })
})
