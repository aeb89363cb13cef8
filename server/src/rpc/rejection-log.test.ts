import { UserService } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import type { Status } from "@authwire/proto/rpc/status"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { Failure } from "../errors/failure.js"
import { linesPerSecond, rejecter, rejections } from "./rejection.js"

function setUp() {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { lines, rejected: rejections(log) }
}

describe("rejections", () => {
  const { getUser, createUser } = UserService.method

  test("are one line with the count of each method, transport and reason", () => {
    const { lines, rejected } = setUp()
    for (let count = 0; count < 1_000; count++) expect(rejected.count(getUser, "grpc", "OVERLOADED", true)).toBe(true)
    rejected.count(getUser, "pipeline", "OVERLOADED", true)
    rejected.count(createUser, "grpc", "RATE_LIMITED", true)
    expect(lines).toEqual([])
    const { requestId } = rejected
    rejected.flush()
    expect(lines).toMatchObject([
      {
        msg: "calls rejected",
        request_id: requestId,
        rejected: [
          { method: "authwire.v1.UserService/GetUser", transport: "grpc", reason: "OVERLOADED", calls: 1_000 },
          { method: "authwire.v1.UserService/GetUser", transport: "pipeline", reason: "OVERLOADED", calls: 1 },
          { method: "authwire.v1.UserService/CreateUser", transport: "grpc", reason: "RATE_LIMITED", calls: 1 },
        ],
      },
    ])
    rejected.flush()
    expect(lines).toHaveLength(1)
    expect(rejected.requestId).not.toBe(requestId)
  })

  test("for any other reason have a line of their own", () => {
    const { rejected } = setUp()
    for (let count = 0; count < 1_000; count++) {
      expect(rejected.count(getUser, "grpc", "INVALID_FIELD", true)).toBe(false)
      expect(rejected.count(getUser, "grpc", "OK", true)).toBe(false)
    }
  })

  test("of callers without a key have ten lines per outcome, and so do their other calls", () => {
    const { lines, rejected } = setUp()
    const outcomes = ["INVALID_FIELD", "CANCELLED", "UNIMPLEMENTED", "OK"]
    for (const outcome of outcomes) {
      const own = Array.from({ length: 1_000 }, () => rejected.count(getUser, "http", outcome, false))
      expect(own.filter((isCounted) => !isCounted)).toHaveLength(linesPerSecond)
    }
    rejected.flush()
    const counted = { method: "authwire.v1.UserService/GetUser", transport: "http", calls: 990 }
    expect(lines).toMatchObject([
      { level: 30, msg: "calls answered", answered: [counted] },
      { level: 40, msg: "calls rejected", rejected: outcomes.slice(0, 3).map((reason) => ({ ...counted, reason })) },
    ])
  })
})

describe("a rejecter", () => {
  const { getUser } = UserService.method
  const idOf = ({ status }: { status: Status }) => {
    const [info] = status.details.map((detail) => anyUnpack(detail, ErrorInfoSchema))
    return info?.metadata.request_id
  }

  function create() {
    const { rejected } = setUp()
    const observed: string[] = []
    const audited: string[] = []
    const reject = rejecter({
      rejections: rejected,
      observer: { rejected: (_method, _transport, requestId) => observed.push(requestId) },
      audit: (_method, _failure, requestId) => audited.push(requestId),
    })
    const of = (failure: Failure, givenId?: string) => reject(failure, getUser, "pipeline", givenId)
    return { rejected, observed, audited, of }
  }

  test("lets calls that are only counted share an error, with the id of the line that counts them", () => {
    const { rejected, observed, audited, of } = create()
    const errors = Array.from({ length: 1_000 }, () => of(new Failure("METHOD_UNKNOWN")))
    const [own, shared] = [errors.slice(0, linesPerSecond), errors.slice(linesPerSecond)]
    expect(own.map(idOf)).toEqual(observed)
    expect(new Set([...observed, rejected.requestId]).size).toBe(linesPerSecond + 1)
    expect(own.every(({ bytes }) => bytes > 512)).toBe(true)
    expect(new Set(shared.map(({ status }) => status)).size).toBe(1)
    expect(shared.every((error) => error.bytes === 0 && idOf(error) === rejected.requestId)).toBe(true)
    expect(audited.slice(linesPerSecond)).toEqual(shared.map(() => rejected.requestId))
    rejected.flush()
    const later = Array.from({ length: linesPerSecond + 1 }, () => of(new Failure("METHOD_UNKNOWN")))
    expect(later.slice(-1).map(idOf)).toEqual([rejected.requestId])
  })

  test("shares no error whose details differ, or whose call has an id", () => {
    const { rejected, of } = create()
    const limited = (retryAfterMs?: number) =>
      of(new Failure("RATE_LIMITED", { ...(retryAfterMs !== undefined && { retryAfterMs }) })).status
    expect(limited(0.2)).toBe(limited(0.7))
    expect(new Set([limited(0.2), limited(0), limited(1.5), limited()]).size).toBe(4)
    const scoped = (scope: string) => of(new Failure("SCOPE_MISSING", { metadata: { scope } }))
    for (let count = 0; count < linesPerSecond; count++) scoped("users:read")
    const [read, write] = [scoped("users:read"), scoped("users:write")]
    expect(read.status.details).not.toEqual(write.status.details)
    expect(Math.min(read.bytes, write.bytes)).toBeGreaterThan(0)
    expect([idOf(read), idOf(write)]).toEqual([rejected.requestId, rejected.requestId])
    expect(idOf(of(new Failure("RATE_LIMITED", { retryAfterMs: 0.2 }), "mine"))).toBe("mine")
  })

  test("keeps a bounded number of errors to share", () => {
    const { of } = create()
    const limited = (retryAfterMs: number) => of(new Failure("RATE_LIMITED", { retryAfterMs }))
    const bytes = Array.from({ length: 1_000 }, (_, ms) => limited(ms).bytes)
    expect(bytes.filter((size) => size === 0)).toHaveLength(100)
    expect(limited(1).bytes).toBe(0)
    expect(limited(999).bytes).toBeGreaterThan(0)
  })
})
