import { UserService } from "@authwire/proto"
import { describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { refusals } from "./rejection-log.js"

function setUp() {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { lines, refused: refusals(log) }
}

describe("refusals", () => {
  const { getUser, createUser } = UserService.method

  test("are one line with the count of each method, door and reason", () => {
    const { lines, refused } = setUp()
    for (let count = 0; count < 1_000; count++) expect(refused.count(getUser, "grpc", "OVERLOADED")).toBe(true)
    refused.count(getUser, "pipeline", "OVERLOADED")
    refused.count(createUser, "grpc", "RATE_LIMITED")
    expect(lines).toEqual([])
    const { requestId } = refused
    refused.flush()
    expect(lines).toMatchObject([
      {
        msg: "calls refused",
        request_id: requestId,
        refused: [
          { method: "authwire.v1.UserService/GetUser", door: "grpc", reason: "OVERLOADED", calls: 1_000 },
          { method: "authwire.v1.UserService/GetUser", door: "pipeline", reason: "OVERLOADED", calls: 1 },
          { method: "authwire.v1.UserService/CreateUser", door: "grpc", reason: "RATE_LIMITED", calls: 1 },
        ],
      },
    ])
    refused.flush()
    expect(lines).toHaveLength(1)
    expect(refused.requestId).not.toBe(requestId)
  })

  test("for any other reason have a line of their own", () => {
    const { refused } = setUp()
    expect(refused.count(getUser, "grpc", "API_KEY_INVALID")).toBe(false)
  })
})
