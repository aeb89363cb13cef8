import type { AuthwireClient } from "@authwire/client"
import {
  type CreateSessionResponse,
  type DisableUserResponse,
  type EncodeResponse,
  IntrospectionService,
  type IntrospectResponse,
  type Session,
  SessionService,
  TokenService,
  UserService,
} from "@authwire/proto"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { type DescMethodUnary, type Message, toBinary } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import type { Carrier } from "./carriers.js"
import { ordinary } from "./ordinary.js"
import { call, failureOf, linesOf, logged, methods, type World } from "./world.js"

interface Times {
  createTime?: Timestamp
  updateTime?: Timestamp
}
interface Used {
  lastUsedTime?: Timestamp
}

export function describeMessages(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient

  describe("messages", () => {
    test("are the same to the byte, even large or unusual ones, and each call is one line in the log", async () => {
      const names = (of: readonly DescMethodUnary[]) => new Set(of.map(({ parent, name }) => `${parent.name}.${name}`))
      expect(names(ordinary.map(([method]) => method))).toEqual(names(methods))
      const expected = await made(world.reference)
      const id = crypto.randomUUID()
      const answers = await made(client(), id)
      for (const [n, [method]] of ordinary.entries())
        expect([method.name, answers[n]?.equals(expected[n] as Buffer)]).toEqual([method.name, true])
      await logged(world)
      for (const [n, [method]] of ordinary.entries())
        expect(await linesOf(world.server, `${id}-${n}`)).toEqual([
          {
            level: 30,
            time: expect.any(String),
            method: `${method.parent.typeName}/${method.name}`,
            transport: carrier.way,
            code: "OK",
            tenant: "default",
            duration_ms: expect.any(Number),
            request_id: `${id}-${n}`,
            msg: "call",
          },
        ])
    })
  })

  test("health is answered, and a stream is carried", async () => {
    const transport = carrier.transport(world.server)
    const health = createClient(Health, transport)
    const watching = new AbortController()
    const watched = health.watch({}, { signal: watching.signal })[Symbol.asyncIterator]()
    expect((await watched.next()).value).toMatchObject({ status: Status.SERVING })
    const ended = failureOf(watched.next())
    watching.abort()
    expect((await ended).code).toBe("Canceled")
    expect((await health.check({})).status).toBe(Status.SERVING)
    const { statuses } = await health.list({})
    expect(statuses).toMatchObject({
      "": { status: Status.SERVING },
      [UserService.typeName]: { status: Status.SERVING },
    })
    // Not of all services: a connection without an admitted call may ask twenty times at once.
    for (const service of Object.keys(statuses).slice(0, 5))
      expect(await health.check({ service })).toEqual(statuses[service])
    const unknown = await failureOf(health.check({ service: "no.such.Service" }))
    expect([unknown.code, unknown.infos[0]?.reason]).toEqual(["NotFound", "SERVICE_UNKNOWN"])
    transport.close?.()
  })

  test("a closed client accepts no more calls", async () => {
    if (!carrier.isGrpc) return
    const own = carrier.connect(world.server)
    await own.adapter.getUser("nobody")
    own.close()
    expect(await failureOf(own.users.getUser({ id: "nobody" }))).toMatchObject({
      code: "FailedPrecondition",
      message: "the client is closed",
    })
  })
}

/** Returns the encoded responses to the ordinary calls. The n-th call has the request id `id-n`. */
async function made(client: AuthwireClient, id = "reference"): Promise<Buffer[]> {
  const answers: Buffer[] = []
  let sessionId: string | undefined
  for (const [n, [method, given]] of ordinary.entries()) {
    // The service generates the ids of sessions.
    const request = method === SessionService.method.getSession ? { id: sessionId } : given
    const answer = await call(client, method, request, { headers: { "x-request-id": `${id}-${n}` } })
    if (method === SessionService.method.createSession) sessionId = (answer as CreateSessionResponse).session?.id
    answers.push(bytesOf(method, answer))
  }
  return answers
}

function bytesOf(method: DescMethodUnary, answer: Message): Buffer {
  // A new token has a new id and other random parts.
  if (method === TokenService.method.encode)
    return Buffer.from((answer as EncodeResponse).token.replaceAll(/[^.]+/g, ({ length }) => String(length)))
  // The session is a new one each time.
  const { session } = answer as { session?: Session }
  if (session !== undefined) {
    session.id = ""
    for (const time of ["createTime", "lastSeenTime"] as const) delete session[time]
  }
  if (method === UserService.method.disableUser) delete (answer as DisableUserResponse).user?.disabled?.disableTime
  if (method === IntrospectionService.method.introspect) {
    const introspected = answer as IntrospectResponse
    introspected.sessionId = introspected.jti = ""
  }
  // The times that lists and exports add to their rows, which are new each time.
  const {
    user,
    users = [],
    accounts = [],
    authenticators = [],
    authenticator,
  } = answer as { user?: Times; authenticator?: Used } & {
    [Name in "users" | "accounts" | "authenticators"]?: Times[]
  }
  if (user?.createTime !== undefined) users.push(user)
  for (const row of [...users, ...accounts, ...authenticators]) row.createTime = row.updateTime = timestampFromMs(0)
  for (const used of [authenticator, ...(authenticators as Used[])]) delete used?.lastUsedTime
  return Buffer.from(toBinary(method.output, answer))
}
