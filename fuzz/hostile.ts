import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib"
import { envelope } from "./generate/calls.ts"
import { nested } from "./generate/json.ts"
import { lengthDelimited, varint } from "./generate/mutations.ts"
import { hostileConnections } from "./hostile-connections.ts"
import type { CallInput, NamedInput } from "./inputs.ts"

const create = "/authwire.v1.UserService/CreateUser"
const update = "/authwire.v1.UserService/UpdateUser"
const link = "/authwire.v1.AccountService/LinkAccount"
const encode = "/authwire.v1.TokenService/Encode"
const getToken = "/authwire.v1.TokenService/GetToken"
const pipeline = "/authwire.v1.PipelineService/Pipeline"
const reflect = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

/** The space for one field within the size limit of a message. */
const space = 4_194_304 - 200

/** Returns requests that cost their sender little. The server must reject them at once, with bounded memory. */
export function hostileInputs(): NamedInput[] {
  return [...bombs(), ...lengths(), ...floods(), ...depths(), ...hostileConnections()]
}

// Compressed messages with 512 MiB of zeros, a hundred times the limit.
function bombs(): NamedInput[] {
  const zeros = Buffer.alloc(512 * 1024 * 1024)
  const gzip = gzipSync(zeros, { level: 1 })
  const deflate = deflateSync(zeros, { level: 1 })
  const brotli = brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
  const packed = { gzip, deflate, br: brotli }
  return Object.entries(packed).flatMap(([encoding, bytes]) => [
    {
      name: `${encoding} bomb, gRPC at the gRPC listener`,
      input: grpc(create, envelope(bytes, 1), [["grpc-encoding", encoding]]),
    },
    { name: `${encoding} bomb, pipeline`, input: grpc(pipeline, envelope(bytes, 1), [["grpc-encoding", encoding]]) },
    {
      name: `${encoding} bomb, gRPC at the HTTP listener`,
      input: at("application/grpc", create, envelope(bytes, 1), [["grpc-encoding", encoding]]),
    },
    {
      name: `${encoding} bomb, gRPC-Web`,
      input: at("application/grpc-web+proto", create, envelope(bytes, 1), [["grpc-encoding", encoding]]),
    },
    {
      name: `${encoding} bomb, Connect`,
      input: at("application/proto", create, bytes, [["content-encoding", encoding]]),
    },
    {
      name: `${encoding} bomb, Connect JSON`,
      input: at("application/json", create, bytes, [["content-encoding", encoding]]),
    },
    {
      name: `${encoding} bomb, stream of Connect`,
      input: at("application/connect+proto", pipeline, envelope(bytes, 1), [["connect-content-encoding", encoding]]),
    },
  ])
}

// Announced lengths that exceed the data. The server must neither wait for the rest nor allocate memory for it.
function lengths(): NamedInput[] {
  const none = Buffer.alloc(0)
  const promised = [4_194_305, 0x7fffffff, 0xffffffff]
  const prefixes = promised.flatMap((length) => {
    const body = envelope(Buffer.from("ab"), 0, length)
    return [
      { name: `prefix ${length}, gRPC at the gRPC listener`, input: endless(grpc(create, body)) },
      { name: `prefix ${length}, pipeline`, input: endless(grpc(pipeline, body)) },
      { name: `prefix ${length}, gRPC at the HTTP listener`, input: endless(at("application/grpc", create, body)) },
      { name: `prefix ${length}, gRPC-Web`, input: endless(at("application/grpc-web+proto", create, body)) },
      { name: `prefix ${length}, stream of Connect`, input: endless(at("application/connect+proto", pipeline, body)) },
      {
        name: `content-length ${length}, Connect over HTTP/1.1`,
        input: endless({
          ...at("application/proto", create, Buffer.from("ab"), [["content-length", String(length)]]),
          version: 1,
        }),
      },
      {
        name: `content-length ${length}, Connect over HTTP/2`,
        input: endless(at("application/proto", create, Buffer.from("ab"), [["content-length", String(length)]])),
      },
    ]
  })
  const fields = [0x7fffffffn, 0xffffffffn, 2n ** 63n - 1n, 2n ** 64n - 1n].flatMap((length) => [
    both(`a field of ${length} bytes`, create, Buffer.concat([Buffer.of(0x22), varint(length), none])),
    both(`a message of ${length} bytes`, create, Buffer.concat([Buffer.of(0x32), varint(length), none])),
    both(`a frame's call of ${length} bytes`, pipeline, Buffer.concat([Buffer.of(0x0a), varint(length), none])),
  ])
  return [...prefixes, ...fields.flat()]
}

// Two bytes on the wire may become an object of hundreds of bytes in memory.
function floods(): NamedInput[] {
  const many = (part: Buffer) => Buffer.concat(Array.from({ length: Math.floor(space / part.length) }, () => part))
  const entry = (at: number) => lengthDelimited(1, lengthDelimited(1, Buffer.from(at.toString(36))))
  const entries = Buffer.concat(Array.from({ length: 400_000 }, (_, at) => entry(at)))
  const id = Buffer.from("0a0161", "hex")
  return [
    both("two million calls in a frame", pipeline, many(Buffer.from("0a00", "hex"))),
    both("four million ids to cancel, packed", pipeline, lengthDelimited(2, Buffer.alloc(space))),
    both("two million ids to cancel", pipeline, many(Buffer.from("1000", "hex"))),
    both("a call with 400,000 headers", pipeline, lengthDelimited(1, lengthDelimited(5, entries))),
    both("two million paths", update, Buffer.concat([id, lengthDelimited(7, many(Buffer.from("0a00", "hex")))])),
    both("two million headers", getToken, many(Buffer.from("0a00", "hex"))),
    both("two million secrets", encode, many(Buffer.from("2200", "hex"))),
    both("two million details of an authorization", link, lengthDelimited(12, many(Buffer.from("0a00", "hex")))),
    both("400,000 properties", create, lengthDelimited(6, entries)),
    both("two million values in a list", create, extra(lengthDelimited(6, many(Buffer.from("0a00", "hex"))))),
    both("two million unknown fields", create, many(Buffer.from("7800", "hex"))),
    both("a user two million times", create, many(Buffer.from("3200", "hex"))),
    both("an unknown symbol of 4 MB", reflect, lengthDelimited(4, Buffer.alloc(space - 200, "a"))),
    json("two million numbers", `{"extra":{"a":[${"0,".repeat(2_000_000)}0]}}`),
    json(
      "400,000 names",
      `{"extra":{${Array.from({ length: 400_000 }, (_, at) => `"${at.toString(36)}":0`).join(",")}}}`,
    ),
    json("the same name 400,000 times", `{"extra":{${Array.from({ length: 400_000 }, () => '"a":0').join(",")}}}`),
    json("a number of a million digits", `{"extra":{"a":${"9".repeat(1_000_000)}}}`),
  ].flat()
}

function depths(): NamedInput[] {
  const wrapped = (depth: number) => {
    let value: Buffer = Buffer.from("0800", "hex")
    // A list in a list, each with a single Value.
    for (let level = 0; level < depth; level++) value = lengthDelimited(6, lengthDelimited(1, value))
    return extra(value)
  }
  const groups = (depth: number) => Buffer.alloc(depth, 0x7b)
  return [
    both("10,000 lists in each other", create, wrapped(10_000)),
    both("10,000 groups in each other", create, groups(10_000)),
    both("4 million groups in each other", create, groups(space)),
    json("10,000 arrays in each other", `{"extra":{"a":${nested(10_000)}}}`),
    json("2 million arrays in each other", `{"extra":{"a":${nested(2_000_000)}}}`),
    json("10,000 objects in each other", `{"extra":${nested(10_000, '{"a":', "}")}}`),
    json("10,000 objects in an unknown field", `{"nothing":${nested(10_000, '{"a":', "}")}}`),
    json("half an array, 4 million deep", `{"extra":${"[".repeat(4_000_000)}`),
  ].flat()
}

/** Returns the bytes of a user whose `extra` has one property with this google.protobuf.Value. */
const extra = (value: Buffer) =>
  lengthDelimited(
    6,
    lengthDelimited(1, Buffer.concat([lengthDelimited(1, Buffer.from("a")), lengthDelimited(2, value)])),
  )

function both(name: string, path: string, message: Buffer): NamedInput[] {
  const streams = path === pipeline || path === reflect
  const type = streams ? "application/connect+proto" : "application/proto"
  const body = streams ? envelope(message) : message
  return [
    { name: `${name}, gRPC`, input: grpc(path, envelope(message)) },
    { name: `${name}, Connect`, input: at(type, path, body) },
  ]
}

const json = (name: string, text: string): NamedInput[] => [
  { name: `${name}, JSON`, input: at("application/json", create, Buffer.from(text)) },
]

function grpc(path: string, body: Buffer, headers: [string, string][] = []): CallInput {
  return { ...at("application/grpc", path, body, [["te", "trailers"], ...headers]), transport: "grpc" }
}

function at(type: string, path: string, body: Buffer, headers: [string, string][] = []): CallInput {
  return {
    kind: "call",
    transport: "http",
    version: 2,
    method: "POST",
    path,
    headers: [["content-type", type], ...headers],
    body,
  }
}

const endless = (input: CallInput): CallInput => ({ ...input, ends: false })
