import { SessionService } from "@authwire/proto"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createRouterTransport } from "@connectrpc/connect"
import { afterEach, expect, jest, test } from "@jest/globals"
import { AuthwireAdapter, type SessionAgeOptions } from "../index.js"

afterEach(() => void jest.restoreAllMocks())

/** Creates an adapter of a service that extends every session, with a log of the requests. */
function adapterWith(sessions: SessionAgeOptions) {
  const asked: { name: string; request: unknown }[] = []
  const expires = timestampFromMs(Date.now() + 3_600_000)
  const transport = createRouterTransport(({ service }) =>
    service(SessionService, {
      accessSession(request) {
        asked.push({ name: "AccessSession", request })
        const session = { sessionToken: request.sessionToken, userId: "u1", expires }
        return { session, user: { id: "u1" }, extended: true }
      },
      updateSession(request) {
        asked.push({ name: "UpdateSession", request })
        return { session: { sessionToken: request.sessionToken, userId: "u1", expires } }
      },
    }),
  )
  return { ...AuthwireAdapter({ url: "http://authwire.test:50051", transport, sessions }), asked }
}

test.each<[SessionAgeOptions, object]>([
  [{}, { maxAge: { seconds: 2_592_000n, nanos: 0 }, updateAge: { seconds: 86_400n, nanos: 0 } }],
  [
    { maxAge: 3_600, updateAge: 0 },
    { maxAge: { seconds: 3_600n, nanos: 0 }, updateAge: { seconds: 0n, nanos: 0 } },
  ],
  [
    { maxAge: 0.29, updateAge: 1.9996 },
    { maxAge: { seconds: 0n, nanos: 290_000_000 }, updateAge: { seconds: 2n, nanos: 0 } },
  ],
])("%p is sent with a precision of milliseconds", async (ages, extend) => {
  const { getSessionAndUser, asked } = adapterWith(ages)
  await getSessionAndUser("s1")
  expect(asked).toMatchObject([{ name: "AccessSession", request: { sessionToken: "s1", extend } }])
})

test("the last 1,000 sessions that Auth.js may still extend are remembered", async () => {
  // The calls appear to be made at the same time, however long they take.
  jest.spyOn(Date, "now").mockReturnValue(Date.now())
  const { getSessionAndUser, updateSession, asked } = adapterWith({ maxAge: 3_600, updateAge: 0 })
  for (let n = 0; n < 1_001; n++) await getSessionAndUser(`s${n}`)
  // A session that is read again becomes the most recent one.
  await getSessionAndUser("s1")
  await getSessionAndUser("s1001")
  asked.length = 0
  for (const sessionToken of ["s1", "s3", "s1001"]) {
    await updateSession({ sessionToken, expires: new Date(Date.now() + 3_600_000) })
  }
  expect(asked).toEqual([])
  for (const sessionToken of ["s0", "s2"]) {
    await updateSession({ sessionToken, expires: new Date(Date.now() + 3_600_000) })
  }
  expect(asked.map(({ name }) => name)).toEqual(["UpdateSession", "UpdateSession"])
})

test("sessions whose extension is far from due are not remembered", async () => {
  const { getSessionAndUser, updateSession, asked } = adapterWith({ maxAge: 3_600, updateAge: 60 })
  await getSessionAndUser("s1")
  await updateSession({ sessionToken: "s1", expires: new Date(Date.now() + 3_600_000) })
  expect(asked.map(({ name }) => name)).toEqual(["AccessSession", "UpdateSession"])
})
