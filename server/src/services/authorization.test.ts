import { CheckRequestSchema } from "@authwire/proto/envoy"
import { create } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { pino } from "pino"
import type { RequestSessionDeps } from "../introspection/request-session.js"
import type { Call } from "../rpc/call.js"
import { authorizationService } from "./authorization.js"

test("an invalid setting is logged for each tenant once a minute", async () => {
  const tenants: string[] = []
  const log = pino({}, { write: (line: string) => void tenants.push(JSON.parse(line).tenant) })
  let now = 0
  const { check } = authorizationService({ ...({} as RequestSessionDeps), log, clock: () => now })
  const request = create(CheckRequestSchema, {
    attributes: { contextExtensions: { policy: "nonsense" }, request: { http: { method: "GET" } } },
  })
  const checkAs = (tenant: string) =>
    expect(check(request, { tenant } as Call)).rejects.toMatchObject({ reason: "INVALID_FIELD" })
  for (const tenant of ["one", "one", "other", "other"]) await checkAs(tenant)
  expect(tenants).toEqual(["one", "other"])
  now += 60_000
  for (const tenant of ["one", "other"]) await checkAs(tenant)
  expect(tenants).toEqual(["one", "other", "one", "other"])
})
