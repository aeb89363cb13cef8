import { TokenService, UserService } from "@authwire/proto"
import { create, type DescMethod } from "@bufbuild/protobuf"
import { expect, jest, test } from "@jest/globals"
import { Failure } from "../../errors/failure.js"
import type { Call } from "../call.js"
import { type AuditTable, audit } from "./audit.js"

test.each([
  [TokenService.method.encode, undefined, true],
  [TokenService.method.encode, new Failure("MISSING_SECRET"), true],
  [UserService.method.deleteUser, undefined, false],
  [UserService.method.deleteUser, new Failure("USER_NOT_FOUND"), false],
])(
  "an entry is lost before others if calls of its method change nothing, however they end",
  (method: DescMethod, failure, isRoutine) => {
    const keep = jest.fn<AuditTable["keep"]>()
    const table = { keep } as unknown as AuditTable
    const record = audit({ lines: undefined, table, now: () => 0 }).recorderOf(method)
    const call = { identity: { tenant: "a", keyId: "k" }, requestId: "r" } as unknown as Call
    const answer = failure === undefined ? create(method.output) : undefined
    record(call, failure, 0, 0, create(method.input), answer)
    const code = failure === undefined ? "OK" : expect.any(String)
    expect(keep.mock.calls).toEqual([[expect.objectContaining({ code, reason: failure?.reason }), "a", isRoutine]])
  },
)

test("refused calls of a key get ten entries a second, and one for each further method, and the others are counted by method", () => {
  const keep = jest.fn<AuditTable["keep"]>()
  const { recorderOf, flush } = audit({ lines: undefined, table: { keep } as unknown as AuditTable, now: () => 0 })
  const refused = new Failure("SCOPE_MISSING")
  const { listUsers, getUser, deleteUser } = UserService.method
  const told = () => keep.mock.calls.splice(0).map(([{ keyId, method, count }]) => [keyId, method.split("/")[1], count])
  const refuse = (keyId: string, method: DescMethod, times: number) => {
    const record = recorderOf(method)
    const call = { identity: { tenant: "a", keyId }, requestId: "r" } as unknown as Call
    for (let made = 0; made < times; made++) record(call, refused, 0, 0)
  }
  for (let second = 0; second < 2; second++) {
    refuse("k", listUsers, 6)
    refuse("k", getUser, 100)
    refuse("k", deleteUser, 5)
    refuse("k", listUsers, 1)
    refuse("other", getUser, 10)
    expect(told()).toEqual([
      ...Array(6).fill(["k", "ListUsers", undefined]),
      ...Array(4).fill(["k", "GetUser", undefined]),
      ["k", "DeleteUser", undefined],
      ...Array(10).fill(["other", "GetUser", undefined]),
    ])
    flush()
    expect(told()).toEqual([
      ["k", "ListUsers", 1],
      ["k", "GetUser", 96],
      ["k", "DeleteUser", 4],
    ])
  }
})

test("calls without a key get ten entries for each reason, so that calls without any do not hide those with an unknown one", () => {
  const write = jest.fn<NonNullable<Parameters<typeof audit>[0]["lines"]>["write"]>()
  const { recorderOf, flush } = audit({ lines: { write } as never, table: undefined, now: () => 0 })
  const call = { identity: undefined, requestId: "r", header: () => undefined } as unknown as Call
  for (const [reason, times] of [
    ["API_KEY_MISSING", 12],
    ["API_KEY_INVALID", 11],
  ] as const)
    for (let made = 0; made < times; made++) recorderOf(UserService.method.getUser)(call, new Failure(reason), 0, 0)
  const counts = () => write.mock.calls.splice(0).map(([{ reason, count }]) => `${reason} ${count ?? ""}`)
  expect(counts()).toEqual([...Array(10).fill("API_KEY_MISSING "), ...Array(10).fill("API_KEY_INVALID ")])
  flush()
  expect(counts()).toEqual(["API_KEY_MISSING 2", "API_KEY_INVALID 1"])
})
