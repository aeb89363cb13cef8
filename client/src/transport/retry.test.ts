import { repeatable, SessionService, TokenService, UserService } from "@authwire/proto"
import { ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { type CallOptions, Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { type Layer, layered } from "./layer.js"
import { deadline, repeatableNumber, retry } from "./retry.js"

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

/** Creates a service that fails the first calls, on a clock that advances only with calls and pauses, and a log of the calls. */
function setUp({ failures = [] as ConnectError[], timeoutMs = 1_000, callMs = 0, random = 0.5 } = {}) {
  const timeouts: (number | undefined)[] = []
  const times: number[] = []
  const keys: (string | null)[] = []
  const traces: (string | null)[] = []
  const answer = () => {
    const failure = failures.shift()
    if (failure) throw failure
    return { user: { id: "u1" } }
  }
  const router = createRouterTransport(({ service }) => {
    service(UserService, { getUser: answer, createUser: answer, deleteUser: answer })
    service(SessionService, { getSessionAndUser: answer, createSession: () => answer() && {} })
    service(TokenService, { encode: () => answer() && {} })
  })
  jest.spyOn(Math, "random").mockReturnValue(random)
  const record: Layer =
    (next) =>
    (method, signal, timeout, header, ...rest) => {
      timeouts.push(timeout)
      keys.push(new Headers(header).get("idempotency-key"))
      traces.push(new Headers(header).get("traceparent"))
      times.push(performance.now())
      jest.advanceTimersByTime(callMs)
      return next(method, signal, undefined, header, ...rest)
    }
  const transport = layered([deadline(timeoutMs), retry, record], router)
  const users = createClient(UserService, transport)
  const sessions = createClient(SessionService, transport)
  const tokens = createClient(TokenService, transport)
  const getUser = (options?: CallOptions) => settled(users.getUser({ id: "u1" }, options))
  const pauses = () => times.slice(1).map((time, index) => time - (times[index] as number) - callMs)
  return { users, sessions, tokens, timeouts, pauses, keys, traces, getUser }
}

/** Lets the time pass until a call has its outcome. */
async function settled<T>(call: Promise<T>): Promise<T> {
  let isOver = false
  call
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  while (!isOver) await jest.advanceTimersToNextTimerAsync()
  return call
}

const unavailable = () => new ConnectError("gone", Code.Unavailable)
const overloaded = (ms: number, domain = "authwire") =>
  new ConnectError("too much", Code.ResourceExhausted, undefined, [
    { desc: ErrorInfoSchema, value: { domain, reason: "OVERLOADED" } },
    { desc: RetryInfoSchema, value: { retryDelay: durationFromMs(ms) } },
  ])

describe("retry", () => {
  test("a call that succeeds is made once, with the deadline", async () => {
    const { getUser, timeouts, pauses } = setUp()
    await getUser()
    expect(timeouts).toEqual([1_000])
    expect(pauses()).toEqual([])
  })

  test("a method without side effects is retried once, after a pause, within the deadline", async () => {
    const { getUser, timeouts, pauses } = setUp({ failures: [unavailable()], callMs: 200 })
    expect((await getUser()).user?.id).toBe("u1")
    expect(pauses()).toEqual([100])
    expect(timeouts).toEqual([1_000, 700])
  })

  test("an idempotent method is retried", async () => {
    const { sessions, users, timeouts } = setUp({ failures: [unavailable()] })
    await settled(sessions.getSessionAndUser({}))
    expect(timeouts).toHaveLength(2)
    await settled(users.deleteUser({}))
    expect(timeouts).toHaveLength(3)
  })

  test("any other write is retried with the same idempotency key, and each call has its own key", async () => {
    const { users, sessions, keys } = setUp({ failures: [unavailable()] })
    await settled(users.createUser({}))
    await settled(sessions.createSession({}))
    await settled(users.deleteUser({}))
    expect(keys).toEqual(Array(4).fill(expect.stringMatching(/^[\x21-\x7e]{16,255}$/)))
    expect(keys[1]).toBe(keys[0])
    expect(new Set(keys).size).toBe(3)
  })

  test("an idempotency key of the caller is kept", async () => {
    const { users, keys } = setUp({ failures: [unavailable()] })
    await settled(users.createUser({}, { headers: { "Idempotency-Key": "of-the-caller-0001" } }))
    expect(keys).toEqual(["of-the-caller-0001", "of-the-caller-0001"])
  })

  test("a write with other headers has a key too, and keeps these headers", async () => {
    const { users, keys, traces } = setUp({ failures: [unavailable()] })
    await settled(users.createUser({}, { headers: { traceparent: "of the caller" } }))
    expect(keys[0]).toEqual(expect.stringMatching(/^[\x21-\x7e]{16,255}$/))
    expect(keys[1]).toBe(keys[0])
    expect(traces).toEqual(["of the caller", "of the caller"])
  })

  test("a read has no idempotency key", async () => {
    const { getUser, sessions, keys } = setUp()
    await getUser()
    await settled(sessions.getSessionAndUser({}))
    expect(keys).toEqual([null, null])
  })

  test.each<[string, ConnectError, number, number]>([
    ["an outage, at the earliest", unavailable(), 0, 50],
    ["an outage, at the latest", unavailable(), 1, 150],
    ["a rejection with a delay, at the earliest", overloaded(400), 0, 400],
    ["a rejection with a delay, at the latest", overloaded(400), 1, 600],
    ["a rejection with a delay of 0 ms", overloaded(0), 0, 50],
  ])("the pause after %s", async (_, failure, random, pauseMs) => {
    const { getUser, pauses, timeouts } = setUp({ failures: [failure], callMs: 100, random })
    expect((await getUser()).user?.id).toBe("u1")
    expect(pauses()).toEqual([pauseMs])
    expect(timeouts).toEqual([1_000, 900 - pauseMs])
  })

  test.each<[string, ConnectError, number]>([
    ["an outage, if the deadline leaves no time", unavailable(), 900],
    ["a rejection, if the deadline is before the retry", overloaded(1_000), 0],
    ["a rejection that the service itself did not send", overloaded(100, "mesh.test"), 0],
    ...[Code.DeadlineExceeded, Code.Internal, Code.NotFound, Code.ResourceExhausted, Code.Aborted, Code.Unknown].map(
      (code): [string, ConnectError, number] => [`code ${code}`, new ConnectError("", code), 0],
    ),
  ])("there is no retry after %s", async (_, failure, callMs) => {
    const { getUser, timeouts } = setUp({ failures: [failure], callMs })
    await expect(getUser()).rejects.toMatchObject({ code: failure.code })
    expect(timeouts).toHaveLength(1)
  })

  test.each([unavailable(), overloaded(100)])(
    "a call is retried only once, and only if it may run twice: %s",
    async (failure) => {
      const { getUser, tokens, timeouts, keys } = setUp({ failures: [failure, failure, failure] })
      await expect(getUser()).rejects.toMatchObject({ code: failure.code })
      expect(timeouts).toHaveLength(2)
      await expect(settled(tokens.encode({}))).rejects.toMatchObject({ code: failure.code })
      expect(timeouts).toHaveLength(3)
      expect(keys).toEqual([null, null, null])
    },
  )

  test("the timeout of a call takes precedence over the default; zero means none", async () => {
    const { getUser, timeouts } = setUp({ failures: [unavailable()], callMs: 10 })
    await getUser({ timeoutMs: 2_000 })
    await getUser({ timeoutMs: 0 })
    expect(timeouts).toEqual([2_000, 1_890, 0])
  })

  test("an abort ends the pause", async () => {
    jest.spyOn(Math, "random").mockReturnValue(100)
    const controller = new AbortController()
    let calls = 0
    const inner = createRouterTransport(({ service }) => {
      service(UserService, {
        getUser() {
          calls += 1
          // The abort happens before the pause ends, on any machine.
          setTimeout(() => controller.abort(), 5)
          throw unavailable()
        },
      })
    })
    const { getUser } = createClient(UserService, layered([deadline(60_000), retry], inner))
    const call = settled(getUser({ id: "u1" }, { signal: controller.signal }))
    await expect(call).rejects.toMatchObject({ code: Code.Canceled })
    expect(calls).toBe(1)
  })
})

test("repeatableNumber is the number of the schema's option", () => {
  expect(repeatableNumber).toBe(repeatable.number)
})
