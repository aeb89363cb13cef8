import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { ServerReflectionRequestSchema } from "@authwire/proto/reflection/v1"
import { create } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { reflectionService } from "../../server/src/services/reflection.js"

const descriptors = createRequire(import.meta.url).resolve("@authwire/proto/descriptors.binpb")

test("a descriptor is encoded only once", async () => {
  const service = reflectionService({ descriptorSet: readFileSync(descriptors), serviceNames: [] })
  const asked = ["authwire.v1.UserService", "authwire.v1.User", "authwire.v1.SessionService"].map((symbol) =>
    create(ServerReflectionRequestSchema, { messageRequest: { case: "fileContainingSymbol", value: symbol } }),
  )
  async function* requests() {
    yield* asked
    yield* asked
  }
  const files: Uint8Array[][] = []
  for await (const { messageResponse } of service.serverReflectionInfo(requests(), undefined as never)) {
    if (messageResponse?.case !== "fileDescriptorResponse") throw new Error(`no file: ${messageResponse?.case}`)
    files.push(messageResponse.value.fileDescriptorProto as Uint8Array[])
  }
  // The same buffers, not equal ones: imported files are shared by the files that import them.
  const distinct = new Set(files.flat())
  const contents = new Set(files.flat().map((bytes) => Buffer.from(bytes).toString("base64")))
  expect(files).toHaveLength(6)
  expect(distinct.size).toBe(contents.size)
})
