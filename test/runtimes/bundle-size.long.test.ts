import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { bundleSize, hasRuntimes } from "@authwire/test-support/machine/runtimes.js"
import { expect, test } from "@jest/globals"

/** The size limit, in bytes. */
const limit = 42_000

const withBundler = hasRuntimes() ? test : test.skip
const sizeOf = (source: string) =>
  bundleSize(source, mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "bundle-")))

/** Modules that the adapter does not need: the rules of the fields, other services, gRPC, the token module. */
const foreign =
  /buf\/validate|permission_pb|\/token_service|introspection_service|pipeline|reflection|health|adapter\/jwt|authwire.*token\/|grpc-js|event_service|audit_|api_key_|tenant_|session_policy_|private_extra_|administration|dist\/(events|call-errors|lists)|fetch-stream/

withBundler.each(["@authwire/client/edge", "@authwire/client"])(
  "the adapter of %s is small at the edge: at most 42 kB gzipped, without modules that it does not use",
  async (module) => {
    const { gzipped, sizes } = await sizeOf(`export { AuthwireAdapter } from "${module}"`)
    expect(Object.keys(sizes).filter((path) => foreign.test(path))).toEqual([])
    expect(Object.keys(sizes).some((path) => path.endsWith("client/dist/adapter/adapter.js"))).toBe(true)
    expect(gzipped).toBeLessThanOrEqual(limit)
  },
)

withBundler("the bundle of the whole client includes these modules, so the test above would detect them", async () => {
  const { sizes } = await sizeOf(`export { createAuthwireClient } from "@authwire/client/edge"`)
  const names = Object.keys(sizes).flatMap((path) => (foreign.test(path) ? path.replace(/^.*\//, "") : []))
  expect(names.sort()).toEqual([
    "administration.js",
    "api_key_service_pb.js",
    "audit_entry_pb.js",
    "audit_service_pb.js",
    "call-errors.js",
    "event_service_pb.js",
    "events.js",
    "fetch-stream.js",
    "introspection_service_pb.js",
    "jwt.js",
    "lists.js",
    "private_extra_service_pb.js",
    "session_policy_pb.js",
    "session_policy_service_pb.js",
    "tenant_service_pb.js",
    "token_service_pb.js",
  ])
})
