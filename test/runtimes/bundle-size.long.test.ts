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
  /buf\/validate|permission_pb|\/token_service|introspection_service|pipeline|reflection|health|adapter\/jwt|authwire.*token\/|grpc-js/

withBundler.each(["@authwire/client/edge", "@authwire/client"])(
  "the adapter of %s is small at the edge: at most 42 kB gzipped, without modules that it does not use",
  async (module) => {
    const { gzipped, sizes } = await sizeOf(`export { AuthwireAdapter } from "${module}"`)
    expect(Object.keys(sizes).filter((path) => foreign.test(path))).toEqual([])
    expect(Object.keys(sizes).some((path) => path.endsWith("client/dist/adapter/adapter.js"))).toBe(true)
    expect(gzipped).toBeLessThanOrEqual(limit)
  },
)

withBundler("the bundle of the whole client includes the tokens, so the test above would detect them", async () => {
  const { sizes } = await sizeOf(`export { createAuthwireClient } from "@authwire/client/edge"`)
  expect(Object.keys(sizes).filter((path) => foreign.test(path))).toEqual([
    expect.stringMatching(/\/token_service_pb\.js$/),
    expect.stringMatching(/\/introspection_service_pb\.js$/),
    expect.stringMatching(/adapter\/jwt\.js$/),
  ])
})
