import type { RawInput } from "../inputs.ts"
import type { Random } from "../random.ts"
import { envelope, requestBytes } from "./calls.ts"
import { strangeHeader } from "./headers.ts"
import { mutateFrames, preface, requestFrames } from "./http2-frames.ts"
import { pathOf, unaryMethods } from "./messages.ts"
import { mutateBytes } from "./mutations.ts"

/** Returns the bytes of a new connection. Most of them violate the protocol. */
export function randomRaw(random: Random): RawInput {
  const transport = random.pick(["grpc", "http"] as const)
  const http2 = transport === "grpc" ? random.chance(0.85) : random.chance(0.4)
  if (random.chance(0.05)) return { kind: "raw", transport, bytes: random.bytes(random.below(200)) }
  return { kind: "raw", transport, bytes: http2 ? http2Bytes(random) : http1Bytes(random) }
}

function http2Bytes(random: Random): Buffer {
  const method = random.pick(unaryMethods)
  const headers: [string, string][] = [
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ]
  while (random.chance(0.3)) headers.push(illegalHeader(random))
  const frames = requestFrames(pathOf(method), headers, envelope(requestBytes(random, method)))
  const mutated = random.chance(0.7) ? mutateFrames(random, frames) : frames
  const bytes = Buffer.concat([preface, ...mutated])
  return random.chance(0.6) ? Buffer.concat([preface, mutateBytes(random, bytes.subarray(preface.length))]) : bytes
}

const hosts = [
  "localhost",
  "localhost",
  "localhost",
  "[",
  "",
  "a b",
  "x".repeat(3000),
  "@",
  "http://",
  "::",
  "a:99999",
  "%",
  "\u00ff",
  "/",
  "?",
  "#",
]
const targets = ["*", "http://[/", "//", "/\\", "http://a@b:c/", "?", "/%", "/\u00ff", `/${"a".repeat(20_000)}`]

function http1Bytes(random: Random): Buffer {
  const method = random.pick(unaryMethods)
  const body = requestBytes(random, method)
  const target = random.chance(0.9) ? pathOf(method) : random.pick(targets)
  const verb = random.chance(0.9)
    ? "POST"
    : random.pick(["GET", "OPTIONS", "CONNECT", "TRACE", "PUT", "HEAD", "QUERY", "post", "", "PRI"])
  const version = random.chance(0.85)
    ? "HTTP/1.1"
    : random.pick(["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "http/1.1", ""])
  const lines = [`${verb} ${target}${random.chance(0.1) ? "?connect=v1&encoding=json&message=%7B%7D" : ""} ${version}`]
  if (random.chance(0.9)) lines.push(`host: ${random.pick(hosts)}`)
  lines.push(
    `content-type: ${random.pick(["application/proto", "application/json", "application/grpc-web", "application/grpc", "application/connect+proto"])}`,
  )
  const chunked = random.chance(0.3)
  if (chunked) lines.push("transfer-encoding: chunked")
  if (!chunked || random.chance(0.1)) {
    const length = random.chance(0.8)
      ? body.length
      : random.pick([0, -1, 0x7fffffff, 0xffffffff, 1e20, body.length + 1, "0x10", "1, 2"])
    lines.push(`content-length: ${length}`)
  }
  while (random.chance(0.3)) lines.push(illegalHeader(random).join(": "))
  if (random.chance(0.1))
    lines.push(
      random.pick([
        "connection: upgrade\r\nupgrade: h2c",
        "upgrade: websocket\r\nconnection: upgrade",
        "expect: 100-continue",
        "expect: x",
        "connection: close",
        "connection: keep-alive, te",
        " folded",
        ":",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: identity",
      ]),
    )
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")
  const sizes = ["7fffffff", "ffffffffffffffff", "-1", "0x5", "5;ext=1", ""]
  const size = random.chance(0.8) ? body.length.toString(16) : random.pick(sizes)
  const content = chunked ? Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]) : body
  const bytes = Buffer.concat([head, content])
  // Sometimes followed by a second request.
  const whole = random.chance(0.1) ? Buffer.concat([bytes, bytes]) : bytes
  return random.chance(0.5) ? mutateBytes(random, whole) : whole
}

function illegalHeader(random: Random): [string, string] {
  const [name, value] = strangeHeader(random)
  if (random.chance(0.7)) return [name, value]
  return random.pick([
    ["X-Upper", value],
    ["a b", value],
    ["", value],
    [name, "\u0000"],
    [name, "a\r\nb: c"],
    ["connection", "close"],
    ["transfer-encoding", "chunked"],
    [":path", "/"],
    [":authority", "["],
    ["host", "["],
    ["content-length", "5"],
    ["te", "gzip"],
    [name, "v".repeat(70_000)],
  ] satisfies [string, string][])
}
