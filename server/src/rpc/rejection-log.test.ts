import { UserService } from "@authwire/proto"
import { describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { linesPerSecond, rejections } from "./rejection.js"

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
