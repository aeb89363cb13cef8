import type { Random } from "../random.ts"
import { canary } from "./messages.ts"

type Header = [name: string, value: string]

const contentTypes = [
  "application/grpc",
  "application/grpc+proto",
  "application/grpc+json",
  "application/grpc-web",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "application/grpc;charset=x",
  "application/proto",
  "application/json",
  "application/json; charset=utf-16",
  "application/connect+proto",
  "application/connect+json",
  "APPLICATION/JSON",
  "application/x-www-form-urlencoded",
  "text/plain",
  "",
  "application/",
  "x".repeat(2000),
]
const timeouts = [
  "1n",
  "1u",
  "1m",
  "0S",
  "1S",
  "99999999H",
  "99999999n",
  "999999999S",
  "-1S",
  "",
  "1",
  "S",
  "1.5S",
  "1x",
  " 1S",
]
const encodings = [
  "gzip",
  "deflate",
  "br",
  "identity",
  "GZIP",
  "gzip, gzip",
  "zstd",
  "",
  "__proto__",
  "constructor",
  "x".repeat(500),
]

/** Headers that the service interprets. */
const telling: readonly ((random: Random) => Header)[] = [
  (random) => ["content-type", random.pick(contentTypes)],
  (random) => ["grpc-timeout", random.pick(timeouts)],
  (random) => [
    "connect-timeout-ms",
    random.pick(["0", "1", "-1", "1e3", "99999999999999999999", "", "x", "0x10", " 5"]),
  ],
  (random) => ["grpc-encoding", random.pick(encodings)],
  (random) => ["content-encoding", random.pick(encodings)],
  (random) => ["connect-content-encoding", random.pick(encodings)],
  (random) => ["grpc-accept-encoding", random.pick(encodings)],
  (random) => ["connect-accept-encoding", random.pick(encodings)],
  (random) => ["accept-encoding", random.pick(encodings)],
  (random) => ["connect-protocol-version", random.pick(["1", "2", "", "x"])],
  (random) => ["te", random.pick(["trailers"])],
  (random) => ["x-request-id", random.pick(["a", "", " ", "ü", "x".repeat(129), "../..", "{}"])],
  (random) => ["authorization", authorization(random)],
  (random) => ["cookie", random.pick(["", "a=b", `${canary}=${canary}`, ";;;=;", "authjs.session-token=x".repeat(50)])],
  (random) => ["x-http-method-override", random.pick(["GET", "DELETE"])],
]

/** Returns a header that a regular client does not send. */
export function strangeHeader(random: Random): Header {
  if (random.chance(0.6)) return random.pick(telling)(random)
  const name = random.pick([
    "__proto__",
    "constructor",
    "tostring",
    "x-bin",
    "grpc-status-details-bin",
    "grpc-trace-bin",
    "grpc-status",
    "grpc-message",
    "x".repeat(300),
    "a.b_c-d",
    "0",
    "!#$%&'*+.^`|~",
  ])
  const value = random.pick(["", "1", "====", "AAAA", "%%%", "é\u00ff", canary.repeat(100), "a, b, c", "!*", "a\tb"])
  return [name, value]
}

/** Returns an authorization header with an invalid API key. */
export function authorization(random: Random): string {
  const id = random.pick([
    "",
    "a",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    `${canary}id`,
    "__proto__",
    "x".repeat(300),
    "-1",
    "../..",
  ])
  const secret = random.pick(["", canary, `${canary}${"s".repeat(43)}`, "é", "x".repeat(5000), "_", "a_b_c", "%00"])
  return random.pick([
    `Bearer awk_${id}_${secret}`,
    `bearer awk_${id}_${secret}`,
    `Bearer  awk_${id}_${secret}`,
    `Bearer awk_${id}${secret}`,
    `Bearer awk__${secret}`,
    `Bearer awk_${id}`,
    `Bearer ${secret}`,
    "Bearer",
    "Bearer ",
    "",
    `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
    `awk_${id}_${secret}`,
    `Bearer awk_${id}_${secret}, Bearer awk_${id}_${secret}`,
    `Bearer ${"awk_".repeat(1000)}`,
  ])
}
