import { once } from "node:events"
import http2 from "node:http2"
import { EventService, PipelineRequestSchema, UserService } from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { enveloped, header, pathOf } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { errorOf, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { brokenRequest } from "@authwire/test-support/schema/breaches.js"
import { unaryMethods } from "@authwire/test-support/schema/every-method.js"
import { type TextPlace, textPlaces } from "@authwire/test-support/schema/text-places.js"
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"

// A lone surrogate of UTF-16 is valid text in JavaScript and JSON, but cannot be encoded in UTF-8. It would be stored
// and returned as U+FFFD, and two different names would become equal.

/** Two surrogates in the wrong order, so that each is a lone one. */
const lone = "\udc00\ud800"
/** The bytes of a surrogate encoded like UTF-8, and as many bytes of ASCII that they replace. */
const loneBytes = Buffer.from("eda080", "hex")
const placeholder = "~~~"

const cases = unaryMethods.flatMap((method) =>
  textPlaces(method.input).map((place) => [`${method.name}: ${place.name}`, method, place] as const),
)

/** Returns a valid request of a method, except for one text. */
function requestWith(method: DescMethodUnary, place: TextPlace, text: string): JsonObject {
  const valid = create(method.input, brokenRequest(method) as MessageInitShape<DescMessage>)
  return { ...(toJson(method.input, valid) as JsonObject), ...place.with(text) }
}

const nameOf = (method: DescMethodUnary) => `${method.parent.typeName}/${method.name}`

describe("S-32: text with a lone surrogate is rejected in every place, and the error names the place", () => {
  const authwire = useAuthwire("sqlite")
  const tables = ["users", "accounts", "sessions", "verification_tokens", "authenticators"]
  const counts = () => Promise.all(tables.map((table) => authwire.rows(`SELECT count(*) AS count FROM ${table}`)))

  const overHttp = async (method: DescMethodUnary, type: string, body: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${authwire.server.httpUrl}/${nameOf(method)}`, {
      method: "POST",
      headers: { "content-type": type },
      body,
    })
    const text = await response.text()
    const { code, message, details } = JSON.parse(text) as {
      code?: string
      message?: string
      details?: { type: string; value: string }[]
    }
    const detail = (name: string) => Buffer.from(details?.find(({ type }) => type === name)?.value ?? "", "base64")
    return {
      code,
      message,
      reason: fromBinary(ErrorInfoSchema, detail(ErrorInfoSchema.typeName)).reason,
      fields: fromBinary(BadRequestSchema, detail(BadRequestSchema.typeName)).fieldViolations.map(({ field }) => field),
      text,
    }
  }

  test("the schema has such places: fields, lists, lists of messages, masks, names and values of JSON", () => {
    const names = cases.map(([name]) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        "GetUser: id",
        "GetToken: secrets[]",
        "GetToken: headers[].value",
        "UpdateUser: update_mask",
        "CreateUser: extra name",
        "Encode: payload value inside",
        "LinkAccount: authorization_details.items[] value",
      ]),
    )
  })

  test.each(cases)("as JSON, %s", async (_, method, place) => {
    const before = await counts()
    const rejected = await overHttp(method, "application/json", JSON.stringify(requestWith(method, place, lone)))
    expect(rejected).toMatchObject({ code: "invalid_argument", reason: "INVALID_FIELD" })
    // The key of an entry of a map is not named, because it may be anything.
    const field = place.name.replaceAll("[]", "[0]").replace(/\{\}.*/, "")
    expect(rejected.fields).toEqual([place.path ?? field])
    if (place.path?.includes(".")) expect(rejected.message).toContain(place.path)
    // Neither unencoded nor as its replacement.
    expect(rejected.text).not.toMatch(/\\u?d[89c-f]|\ufffd|ada@/i)
    expect(await counts()).toEqual(before)
  })

  // A decoder that replaces bytes would store U+FFFD, and the second name would be a duplicate of the first.
  test.each([
    ["application/json", UserService.method.createUser],
    ["application/grpc-web+json", UserService.method.createUser],
    ["application/grpc+json", UserService.method.createUser],
    ["application/connect+json", EventService.method.watch],
  ])("as JSON that is not UTF-8, by %s", async (type, method) => {
    const before = await counts()
    const session = http2.connect(authwire.server.httpUrl)
    for (const byte of ["ff", "fe"]) {
      const body = Buffer.concat([Buffer.from('{"id":"same-'), Buffer.from(byte, "hex"), Buffer.from('"}')])
      const stream = session.request({ ":method": "POST", ":path": pathOf(method), "content-type": type })
      const received: string[] = []
      const receive = (part: unknown) => received.push(decodeURIComponent(JSON.stringify(part)))
      stream.on("response", receive).on("trailers", receive).setEncoding("utf8").on("data", receive)
      stream.end(type === "application/json" ? body : enveloped(body))
      await once(stream, "close")
      expect(received.join()).toContain("request: must be in UTF-8")
    }
    session.close()
    expect(await counts()).toEqual(before)
  })

  // The decoder of Protobuf-ES rejects them, in whichever field they are.
  test("as bytes, through every transport", async () => {
    const method = UserService.method.createUser
    const message = toBinary(method.input, create(method.input, { name: placeholder }))
    const bytes = Buffer.from(Buffer.from(message).toString("hex").replace("7e7e7e", loneBytes.toString("hex")), "hex")
    expect(bytes.includes(loneBytes)).toBe(true)
    const fields = ["request"]
    expect(await overHttp(method, "application/proto", bytes)).toMatchObject({ code: "invalid_argument", fields })
    for (const url of [authwire.server.grpcUrl, authwire.server.httpUrl]) {
      const connection = attackConnection(url)
      expect(await endOf(connection.open(header(pathOf(method)), enveloped(bytes)))).toBe("3 NO_ERROR")
      connection.close()
      const stream = openBarePipeline(url)
      stream.send({ calls: [{ id: 1, method: nameOf(method), message: bytes }] })
      const [answer] = await stream.answers(1)
      stream.cancel()
      expect(errorOf(answer!)).toMatchObject({ code: "INVALID_ARGUMENT", reason: "INVALID_FIELD", fields })
    }
  })

  test.each(textPlaces(PipelineRequestSchema).map((place) => [place.name, place] as const))(
    "as bytes, in the message of a pipeline, %s",
    async (_, place) => {
      const message = toBinary(PipelineRequestSchema, fromJson(PipelineRequestSchema, place.with(placeholder)))
      const hex = Buffer.from(message).toString("hex").replace("7e7e7e", loneBytes.toString("hex"))
      const stream = openBarePipeline(authwire.server.grpcUrl)
      stream.write(Buffer.from(hex, "hex"))
      expect(await stream.ended).toMatchObject({ code: "INVALID_ARGUMENT", fields: ["request"] })
    },
  )
})
