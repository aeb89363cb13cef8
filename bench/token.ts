// Measures the token module against @auth/core, prints the tables and writes them into docs/performance.md.
//
//   taskset -c 1 node bench/token.ts [--rounds 101] [--url http://127.0.0.1:50051] [--quick] [--dry]
//
// All in one process, in turn and in a new order each round, so that what else the machine does meets all alike. --url (or
// AUTHWIRE_URL) adds TokenService.Decode of a running service; --dry writes nothing.
//
// WebCrypto hands each step to a thread. What that costs depends on which CPU the thread is on, by a factor of two here,
// and that changes by the second. On one CPU (taskset) it is always the same.

import { readFileSync, writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { median } from "./load/statistics.ts"
import { readOptions } from "./options.ts"
import { type CallName, callNames, measure, remoteCall } from "./token-calls.ts"
import { header, type Row, table } from "./token-table.ts"

/** Microseconds of a call in one round, by name and whether it is together with others: `"decode true"`. */
type Round = Record<string, number>

const options = readOptions()
if (!options.has("token")) process.exit()
const remote = options.url === "" ? undefined : await remoteCall(options.url)
const names: CallName[] = [...callNames, ...(remote ? (["remote"] as const) : [])]
const count = options.rounds ?? (options.quick ? 1 : 101)
/** The first rounds warm the process up and are not in the result. */
const warmUp = options.quick ? 1 : 10
const rounds: Round[] = []
for (let round = 0; round < warmUp + count; round++) {
  const result: Round = {}
  const order = names.flatMap((name) => [false, true].map((together) => ({ name, together, at: Math.random() })))
  for (const { name, together } of order.toSorted((one, other) => one.at - other.at)) {
    result[`${name} ${together}`] = await measure(name, together, remote?.call)
  }
  if (round >= warmUp) rounds.push(result)
}
remote?.close()

function rows(together: boolean): Row[] {
  const row = (what: string, name: CallName, base: CallName, goal = ""): Row => {
    const timeOf = (name: CallName) => rounds.map((round) => round[`${name} ${together}`] as number)
    const [times, baseTimes] = [timeOf(name), timeOf(base)]
    // Of the same round, so that a slow moment of the machine counts on both sides.
    const ratio = median(times.map((time, round) => time / (baseTimes[round] as number)))
    return { what, microseconds: median(times), ratio, goal: together ? "" : goal }
  }
  return [
    row("encode, @auth/core", "core encode", "core encode"),
    row("encode", "encode", "core encode", "≤ 0.55"),
    row("decode, @auth/core", "core decode", "core decode"),
    row("decode a new token", "decode", "core decode", "≤ 0.70"),
    row("decode a new token of the second of two secrets", "decode old", "core decode", "≤ 0.70"),
    row("decode a token that was decoded before", "decode again", "core decode", "≤ 0.08"),
    ...(remote ? [row("TokenService.Decode over gRPC, same machine", "remote", "core decode")] : []),
  ]
}

const version = (path: string) =>
  JSON.parse(readFileSync(new URL(`./node_modules/${path}/package.json`, import.meta.url), "utf8")).version
const report = `${header({
  date: new Date(),
  machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: `Node ${process.versions.node}, @auth/core ${version("@auth/core")}, jose ${version("jose")}`,
  rounds: rounds.length,
})}
One call after the other, median time of a call:

${table(rows(false))}
32 calls at a time, time of the run by the number of its calls:

${table(rows(true))}`
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
