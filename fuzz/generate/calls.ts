import { gzipSync } from "node:zlib"
import { Authorization } from "@authwire/proto/envoy"
import { type DescMethod, type Message, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { CallInput } from "../inputs.ts"
import type { Random } from "../random.ts"
import { authorization, strangeHeader } from "./headers.ts"
import { mutateJson } from "./json.ts"
import { canary, methods, pathOf, randomMessage, randomSettings, unaryMethods } from "./messages.ts"
import { mutateBytes, mutateMessage } from "./mutations.ts"

type Maker = (random: Random) => CallInput

/** Returns a message with a prefix of flags and length, as in gRPC, gRPC-Web and Connect streams. */
export function envelope(bytes: Uint8Array, flags = 0, length = bytes.length): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, bytes])
}

/** Returns the bytes of a request, either valid or mutated. */
export function requestBytes(random: Random, method: DescMethod): Buffer {
  const bytes = Buffer.from(toBinary(method.input, randomMessage(random, method.input)))
  return random.chance(0.35) ? bytes : mutateMessage(random, bytes)
}

// Mutated text may contain half of a surrogate pair. It is then not valid JSON, so the library would not produce it.
function requestJson(random: Random, method: DescMethod): Buffer {
  const message: Message = randomMessage(random, method.input)
  const text = toJsonString(method.input, message)
  return random.chance(0.3) ? Buffer.from(text) : mutateJson(random, text)
}

function enveloped(random: Random, method: DescMethod, read: (random: Random, method: DescMethod) => Buffer): Buffer {
  const count = method.methodKind === "bidi_streaming" ? 1 + random.below(3) : random.chance(0.97) ? 1 : random.below(4)
  const bytes = Buffer.concat(
    Array.from({ length: count }, () => {
      const message = read(random, method)
      if (random.chance(0.9)) return envelope(message)
      if (random.chance(0.5)) return envelope(gzipSync(message), 1)
      const lengths = [
        0,
        1,
        message.length,
        message.length + 1,
        Math.max(0, message.length - 1),
        0x7fffffff,
        0xffffffff,
        4_194_305,
      ]
      return envelope(message, random.pick([0, 1, 2, 3, 128, 255]), random.pick(lengths))
    }),
  )
  return random.chance(0.93) ? bytes : mutateBytes(random, bytes)
}

const grpc: Maker = (random) => {
  const method = random.pick(methods)
  return {
    ...common(random, method),
    transport: "grpc",
    headers: [
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...(random.chance(0.1) ? [["grpc-encoding", "gzip"] as [string, string]] : []),
    ],
    body: enveloped(random, method, requestBytes),
  }
}

const grpcAtHttp: Maker = (random) => ({ ...grpc(random), transport: "http" })

const grpcWeb: Maker = (random) => {
  const method = random.pick(methods)
  const type = random.pick(["application/grpc-web+proto", "application/grpc-web"])
  return {
    ...common(random, method),
    version: random.pick([1, 2]),
    headers: [
      ["content-type", type],
      ["x-grpc-web", "1"],
    ],
    body: enveloped(random, method, requestBytes),
  }
}

const connectProto: Maker = (random) => {
  const method = random.pick(unaryMethods)
  return {
    ...common(random, method),
    version: random.pick([1, 2]),
    headers: [
      ["content-type", "application/proto"],
      ["connect-protocol-version", "1"],
    ],
    body: requestBytes(random, method),
  }
}

const connectJson: Maker = (random) => {
  const method = random.pick(unaryMethods)
  return {
    ...common(random, method),
    version: random.pick([1, 2]),
    headers: [["content-type", "application/json"]],
    body: requestJson(random, method),
  }
}

const connectStream: Maker = (random) => {
  const method = random.pick(methods)
  const json = random.chance(0.5)
  return {
    ...common(random, method),
    version: random.pick([1, 2]),
    headers: [
      ["content-type", `application/connect+${json ? "json" : "proto"}`],
      ["connect-protocol-version", "1"],
    ],
    body: enveloped(random, method, json ? requestJson : requestBytes),
  }
}

/** The request of a gateway that does not support gRPC. */
const authorizeGet: Maker = (random) => ({
  ...common(random, Authorization.method.check),
  version: random.pick([1, 2]),
  method: "GET",
  path: `/v1/authorize?${new URLSearchParams(randomSettings(random))}${random.pick(["", "", "&redirect=header", "&redirect=x", "&%zz=%ff"])}`,
  headers: [
    ["cookie", `authjs.session-token=${canary}-session_token-${random.below(2000)}`],
    ["accept", "text/html"],
    ["x-original-uri", random.pick(["/a?b=c", "//x", "/%0d%0a", canary])],
    ["x-original-host", random.pick(["app.example.com", "a/b", canary])],
  ],
  body: Buffer.alloc(0),
})

const connectGet: Maker = (random) => {
  if (random.chance(0.5)) return authorizeGet(random)
  const method = random.pick(unaryMethods)
  const json = random.chance(0.5)
  const bytes = json ? requestJson(random, method) : requestBytes(random, method)
  const encoded =
    json && random.chance(0.7)
      ? encodeURIComponent(bytes.toString("latin1"))
      : `${bytes.toString("base64url")}&base64=1`
  const query = `?connect=v1&encoding=${json ? "json" : "proto"}&message=${encoded}`
  const changed = random.chance(0.8)
    ? query
    : query.replace(
        random.pick(["v1", "connect", "encoding", "base64=1", "message"]),
        random.pick(["", "x", "%zz", "%ff", "compression=gzip"]),
      )
  // The length of a request line is limited, and longer ones are of no interest here.
  return {
    ...common(random, method),
    version: random.pick([1, 2]),
    method: "GET",
    path: `${pathOf(method)}${changed.slice(0, 12_000)}`,
    headers: [],
    body: Buffer.alloc(0),
  }
}

function common(random: Random, method: DescMethod) {
  return { kind: "call", transport: "http", version: 2, method: "POST", path: pathFor(random, method) } as const
}

function pathFor(random: Random, method: DescMethod): string {
  const path = pathOf(method)
  if (random.chance(0.98)) return path
  const strange = [
    "/",
    "//",
    path.toLowerCase(),
    `${path}/`,
    `${path}?`,
    `${path}#x`,
    "/healthz",
    "/readyz?x",
    "/__proto__/constructor",
    `/${"a".repeat(5000)}`,
  ]
  return random.pick(strange)
}

/** Returns a request with correct HTTP framing. Its headers and body may contain anything. */
export function randomCall(random: Random): CallInput {
  const share = random.below(100)
  const make =
    share < 36
      ? grpc
      : share < 46
        ? grpcAtHttp
        : share < 58
          ? grpcWeb
          : share < 70
            ? connectProto
            : share < 86
              ? connectJson
              : share < 93
                ? connectStream
                : connectGet
  const call = make(random)
  if (random.chance(0.15)) call.headers.push(["authorization", authorization(random)])
  if (random.chance(0.25)) {
    for (let count = 1 + random.below(3); count > 0; count--) {
      const [name, value] = strangeHeader(random)
      // Duplicate headers are left to the raw inputs, because Node's client does not send them.
      call.headers = [...call.headers.filter((header) => header[0] !== name), [name, value]]
    }
  }
  return call
}
