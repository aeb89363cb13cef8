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
