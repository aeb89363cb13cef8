// Measures the token module against @auth/core, prints the tables and writes them into docs/performance.md.
//
//   taskset -c 1 node bench/token.ts [--rounds 101] [--url http://127.0.0.1:50051] [--quick] [--dry]
//
// Each side runs in a process of its own. All of them start, warm up and wait; then they take turns, so that what else the
// machine does meets all alike. --url (or AUTHWIRE_URL) adds TokenService.Decode of a running service; --dry writes nothing.
//
// WebCrypto hands each step to a thread. What that costs depends on which CPU the thread is on, by a factor of two here,
// and that changes by the second. On one CPU (taskset) it is always the same.

import { readFileSync, writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { readOptions } from "./options.ts"
import { measure, type Round } from "./token-rounds.ts"
import { header, type Row, table } from "./token-table.ts"

const options = readOptions()
if (!options.has("token")) process.exit()
const rounds = await measure(options.rounds ?? (options.quick ? 1 : 101), options.url)

/** The median over the rounds of what a function makes of each. */
function median(of: (round: Round) => number | undefined): number {
  const sorted = rounds
    .map(of)
    .filter((value) => value !== undefined)
    .toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function row(
  what: string,
  name: string,
  goal: string,
  base = `auth-core${name.includes("32") ? 32 : ""} ${name.split(" ")[1]}`,
): Row {
  return {
    what,
    microseconds: median((round) => round[name]),
    // Of the same round, so that a slow moment of the machine counts on both sides.
    ratio: median((round) => (round[name] as number) / (round[base] as number)),
    goal,
  }
}

const oneByOne = [
  row("encode, @auth/core", "auth-core encode", ""),
  row("encode", "authwire encode", "≤ 0.45"),
  row("decode, @auth/core", "auth-core decode", ""),
  row("decode", "authwire decode", "≤ 0.60"),
  row("decode, the first of two secrets", "authwire first", "", "auth-core decode"),
  row("decode, the second of two secrets, to the first", "authwire second", "≤ 1.05", "authwire first"),
  row("encode, jose alone, given the key", "jose encode", ""),
  row("decode, jose alone, given the key", "jose decode", ""),
  row("encode, synchronous with node:crypto (not in the product)", "node-crypto encode", ""),
  row("decode, synchronous with node:crypto (not in the product)", "node-crypto decode", ""),
  ...(options.url ? [row("TokenService.Decode over gRPC, same machine", "remote decode", "")] : []),
]
const together = [
  row("encode, @auth/core", "auth-core32 encode", ""),
  row("encode", "authwire32 encode", ""),
  row("decode, @auth/core", "auth-core32 decode", ""),
  row("decode", "authwire32 decode", ""),
  ...(options.url ? [row("TokenService.Decode over gRPC, same machine", "remote32 decode", "")] : []),
]

const version = (path: string) =>
  JSON.parse(readFileSync(new URL(`./node_modules/${path}/package.json`, import.meta.url), "utf8")).version
const report = `${header({
  date: new Date(),
  machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: `Node ${process.versions.node}, @auth/core ${version("@auth/core")}, jose ${version("jose")}`,
  rounds: rounds.length,
})}
One call after the other, median time of a call:

${table(oneByOne)}
32 calls at a time, time of the run by the number of its calls:

${table(together)}`
process.stdout.write(`${report}\n`)

if (!options.dry) {
  const page = new URL("../docs/performance.md", import.meta.url)
  const [begin, end] = ["<!-- written by bench/token.ts: begin -->", "<!-- written by bench/token.ts: end -->"]
  const text = readFileSync(page, "utf8")
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error("docs/performance.md has no section for this table")
  writeFileSync(page, `${before}${begin}\n\n${report}\n${end}${after}`)
}
