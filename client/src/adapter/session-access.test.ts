import { SessionService } from "@authwire/proto"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createRouterTransport } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { AuthwireAdapter, type SessionAgeOptions } from "../index.js"

/** Creates an adapter of a service that extends every session, with a log of the requests. */
function adapterWith(sessions: SessionAgeOptions) {
  const asked: unknown[] = []
  const expires = timestampFromMs(Date.now() + 3_600_000)
  const transport = createRouterTransport(({ service }) =>
    service(SessionService, {
      accessSession(request) {
        asked.push(request)
        const session = { sessionToken: request.sessionToken, userId: "u1", expires }
        return { session, user: { id: "u1" }, extended: true }
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
  expect(asked).toMatchObject([{ sessionToken: "s1", extend }])
})
