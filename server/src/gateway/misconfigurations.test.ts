import { expect, test } from "@jest/globals"
import { pino } from "pino"
import { Failure, invalidField } from "../errors/failure.js"
import type { Call } from "../rpc/call.js"
import { misconfigurations } from "./misconfigurations.js"
import { settingsField } from "./policy.js"

test("an invalid setting, or a JWT without the id of its user, is logged for each tenant once a minute, and no other end of a check is", async () => {
  const lines: { tenant: string; detail: string }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let now = 0
  const { checked, onMissingUserId } = misconfigurations(log, () => now)
  const failureAt = (field: string) => invalidField(field, "is wrong")
  const endedAs = (tenant: string, failure = failureAt(settingsField)) =>
    checked({ identity: { tenant } } as Call, failure)
  for (const tenant of ["one", "one", "other", "other"]) endedAs(tenant)
  expect(lines).toMatchObject(["one", "other"].map((tenant) => ({ tenant, detail: `${settingsField}: is wrong` })))
  now += 59_999
  for (const tenant of ["one", "other"]) endedAs(tenant)
  expect(lines).toHaveLength(2)
  now += 1
  for (const tenant of ["one", "other"]) endedAs(tenant)
  expect(lines).toHaveLength(4)
  endedAs("third", failureAt("attributes.request.http"))
  endedAs("third", new Failure("INVALID_FIELD"))
  checked({ identity: { tenant: "third" } } as Call, undefined)
  expect(lines).toHaveLength(4)
  for (const claim of ["uid", "id"]) onMissingUserId("one", claim)
  expect(lines.slice(4)).toMatchObject([{ tenant: "one", claim: "uid" }])
})
