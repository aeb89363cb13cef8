import http2 from "node:http2"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

// What cannot be read in JSON is told by the path of the field and its rule, in every protocol. The kinds of fields are
// tested in json-faults.test.ts.

const createUser = "/authwire.v1.UserService/CreateUser"
const watch = "/authwire.v1.EventService/Watch"
const pipeline = "/authwire.v1.PipelineService/Pipeline"

describe("an error of JSON names the field", () => {
  const authwire = useAuthwire("sqlite")

  /** Sends messages, each in chunks of its own, and returns everything that is answered after the HTTP status. */
  async function ask(path: string, type: string, messages: readonly string[], chunks = messages.length) {
    const session = http2.connect(authwire.server.httpUrl)
    const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", "content-type": type })
    let text = ""
    const hear = (fields: http2.IncomingHttpHeaders) => {
      if (fields["grpc-message"] !== undefined) text += decodeURI(String(fields["grpc-message"]))
    }
    stream.on("response", hear).on("trailers", hear)
    const bytes = messages.map((message) => {
      if (type === "application/json") return Buffer.from(message)
      const prefix = Buffer.alloc(5)
      prefix.writeUInt32BE(Buffer.byteLength(message), 1)
      return Buffer.concat([prefix, Buffer.from(message)])
    })
    for (const part of chunks === 1 ? [Buffer.concat(bytes)] : bytes) {
      stream.write(part)
      // The service reads the chunks one by one.
      await new Promise((resolve) => session.ping(resolve))
    }
    stream.end()
    for await (const chunk of stream) text += chunk
    session.destroy()
    return text.includes("%20") ? decodeURI(text.replaceAll(/[^ -~]/g, "")) : text
  }

  const enveloped = ["application/grpc+json", "application/grpc-web+json"]

  test.each(["application/json", ...enveloped])("of a unary method: %s", async (type) => {
    const text = await ask(createUser, type, ['{"name": "canary", "emailVerified": "2026-01-31T12:00:00"}'])
    expect(text).toContain("email_verified: must be a time with a zone, as in")
    expect(text).not.toContain("canary")
    expect(await ask(createUser, type, ['{"id": "canary'])).toContain("request: is not well-formed JSON")
    const twice = await ask(createUser, type, ['{"id": "canary", "id": "canary"}'])
    expect(twice).toContain("request: has an object with two values of the same name")
    expect(twice).not.toContain("canary")
    // It is not parsed, so that nobody finds out that it is no user either.
    const many = await ask(createUser, type, [`{"id": [${"{},".repeat(150_000)}{}]}`])
    expect(many).toContain("request: must not have more than 100000 parts")
    // One that can be read is answered.
    expect(await ask(createUser, type, ['{"emailVerified": "2026-01-31T12:00:00Z"}'])).toContain('"user":')
  })

  test("with the violations of Connect as details", async () => {
    const text = await ask(createUser, "application/json", ['{"name": 1, "extra": []}'])
    const { details } = JSON.parse(text) as { details: { type: string; debug: unknown }[] }
    expect(details.find(({ type }) => type === "google.rpc.BadRequest")?.debug).toEqual({
      fieldViolations: [
        { field: "name", description: "must be a string" },
        { field: "extra", description: "must be an object" },
      ],
    })
  })

  test.each(["application/connect+json", ...enveloped])("of a streaming method: %s", async (type) => {
    expect(await ask(watch, type, ['{"kinds": ["EVENT_KIND_USER_CREATED", "canary"]}'])).toContain(
      "kinds[1]: must be a name in authwire.v1.EventKind",
    )
    expect(await ask(watch, type, ['{"kinds"'])).toContain("request: is not well-formed JSON")
  })

  test.each(["application/connect+json", ...enveloped])("of any message of a stream: %s", async (type) => {
    const messages = ["{}", '{"cancelledIds": [1]}', '{"calls": [{"message": "%canary"}]}', '{"calls": 1}']
    for (const chunks of [1, messages.length]) {
      const text = await ask(pipeline, type, messages, chunks)
      expect(text).toContain("calls[0].message: must be a string in Base64")
      expect(text).not.toContain("canary")
    }
  })

  test.each(["application/connect+json", ...enveloped])("of a call of a pipeline has its details: %s", async (type) => {
    const call = { id: 7, method: createUser.slice(1), message: Buffer.from([0x0a, 1, 0xff]).toString("base64") }
    const text = await ask(pipeline, type, [JSON.stringify({ calls: [call] })])
    expect(text).toContain('"@type":"type.googleapis.com/google.rpc.BadRequest"')
    expect(text).toContain("is not a well-formed authwire.v1.CreateUserRequest")
  })

  test.each([
    ["application/connect+json", "connect-timeout-ms"],
    ["application/grpc+json", "grpc-timeout"],
  ])("%s: neither a request that is incomplete nor a timeout is an error of JSON", async (type, name) => {
    const session = http2.connect(authwire.server.httpUrl)
    const headers = { ":method": "POST", ":path": pipeline, te: "trailers", "content-type": type }
    const answers = async (more: object, body: Buffer) => {
      const stream = session.request({ ...headers, ...more })
      let text = ""
      stream.on("trailers", (fields) => {
        text += decodeURI(String(fields["grpc-message"]))
      })
      stream.end(body)
      for await (const chunk of stream) text += chunk
      return text
    }
    expect(await answers({}, Buffer.from([0, 0, 0, 0, 9, 123]))).toContain("request: ends within a message")
    const timeout = await answers({ [name]: "canary" }, Buffer.from([0, 0, 0, 0, 2, 123, 125]))
    expect(timeout).toContain("request: has a timeout that cannot be read")
    expect(timeout).not.toContain("canary")
    session.destroy()
  })
})
