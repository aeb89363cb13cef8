import { PipelineRequestSchema, PipelineService, UserService } from "@authwire/proto"
import { create, toBinary, toJsonString } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { codecOf } from "./codec.js"
import { maxParts } from "./interceptors/validation.js"

/** A message with as many calls as the schema allows, each with as many fields in its header. */
const withFields = (fields: number) =>
  create(PipelineRequestSchema, {
    calls: Array.from({ length: 1_024 }, (_, id) => ({
      id: id + 1,
      method: "authwire.v1.UserService/GetUser",
      message: Buffer.from("id"),
      timeoutMs: 1_000,
      header: Object.fromEntries(Array.from({ length: fields }, (_, field) => [`name-${field}`, "value"])),
    })),
  })

test("S-31: a message of a pipeline may have 1,024 calls with usual headers, and not many more parts", () => {
  const { decode, decodeJson } = codecOf(PipelineService.method.pipeline, async () => {})
  for (const read of [
    (fields: number) => decode(toBinary(PipelineRequestSchema, withFields(fields))),
    (fields: number) => decodeJson(Buffer.from(toJsonString(PipelineRequestSchema, withFields(fields)))),
  ]) {
    expect(read(6)).toHaveProperty("calls.length", 1_024)
    expect(() => read(9)).toThrow(/^request: must not have more than \d+ parts$/)
  }
})

test("a field mask in JSON may have as many paths as a request has parts, by either of its names", () => {
  const { decodeJson } = codecOf(UserService.method.updateUser, async () => {})
  const read = (name: string, paths: number) =>
    decodeJson(Buffer.from(JSON.stringify({ id: "ada", [name]: Array(paths).fill("name").join(",") })))
  for (const name of ["updateMask", "update_mask"]) {
    expect(read(name, maxParts)).toHaveProperty("updateMask.paths.length", maxParts)
    expect(() => read(name, maxParts + 1)).toThrow(`update_mask: must not have more than ${maxParts} parts`)
  }
})
