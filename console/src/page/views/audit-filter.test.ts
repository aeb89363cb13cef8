import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"
import { auditRequest, methodNames, methodOf } from "./audit-filter.ts"

test("one filter that an index serves, and times of the viewer's zone, become a request", () => {
  expect(auditRequest({})).toEqual({})
  expect(auditRequest({ user: "ada", key: "k", since: "2026-11-29T07:55", before: "never" })).toEqual({
    filter: { case: "userId", value: "ada" },
    since: timestampFromDate(new Date(2026, 10, 29, 7, 55)),
  })
  expect(auditRequest({ key: "k" })).toEqual({ filter: { case: "keyId", value: "k" } })
})

test("a method is found by a short name", () => {
  const full = "authwire.v1.UserService/DeleteUser"
  expect(methodNames).toContain(full)
  for (const name of ["DeleteUser", "UserService/DeleteUser", full]) expect(methodOf(name)).toBe(full)
  expect(methodOf("none")).toBe("none")
})
