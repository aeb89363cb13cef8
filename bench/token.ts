// Compares the token module with @auth/core, prints the tables and writes them into bench/results.md.
//
//   taskset -c 1 node bench/token.ts [--rounds 101] [--url http://127.0.0.1:50051] [--quick] [--dry]
//
// Everything runs in one process, in turns and in a new order each round, so that other load on the machine affects all
// calls alike. --url (or AUTHWIRE_URL) adds TokenService.Decode of a running service. --dry writes nothing.
//
// WebCrypto runs each step on another thread. The cost of that depends on the CPU of the thread, by a factor of two
// here, and it changes within seconds. With a single CPU (taskset) it is constant.

import { readMachineFacts, versions } from "./facts.ts"
import { median } from "./load/statistics.ts"
import { readOptions } from "./options.ts"
import { machineText, table, writeSection } from "./report/markdown.ts"
import { ratio } from "./report/measured.ts"
import { type CallName, callNames, measure, remoteCall } from "./token-calls.ts"

/** Microseconds of each call in one round. */
type Round = Partial<Record<CallName, number>>

const options = readOptions()
if (!options.has("token")) process.exit()
const remote = options.url === "" ? undefined : await remoteCall(options.url)
const names: CallName[] = [...callNames, ...(remote ? (["remote"] as const) : [])]
const count = options.rounds ?? (options.quick ? 1 : 101)
/** The number of rounds for the warm-up. They are not in the result. */
const warmUp = options.quick ? 1 : 10
const rounds: Round[] = []
for (let round = 0; round < warmUp + count; round++) {
  const result: Round = {}
  const order = names.map((name) => ({ name, at: Math.random() }))
  for (const { name } of order.toSorted((one, other) => one.at - other.at)) {
    result[name] = await measure(name, remote?.call)
  }
  if (round >= warmUp) rounds.push(result)
}
remote?.close()

const row = (what: string, name: CallName, base: CallName) => {
  const timesOf = (name: CallName) => rounds.map((round) => round[name] as number)
  return [what, median(timesOf(name)).toFixed(1), ratio(timesOf(name), timesOf(base)).toFixed(2)]
}
const { "@auth/core": core, jose } = versions
const report = [
  `${machineText(readMachineFacts())}; @auth/core ${core}, jose ${jose}; ${rounds.length} rounds.`,
  "All variants run in one process, in turn. The durations are medians over the rounds; a ratio compares durations of the same round with @auth/core.",
  "One call at a time, median duration of a call:",
  table(
    ["", "µs", "ratio"],
    [
      row("encode, @auth/core", "core encode", "core encode"),
      row("encode", "encode", "core encode"),
      row("decode, @auth/core", "core decode", "core decode"),
      row("decode a new token", "decode", "core decode"),
      row("decode a new token of the second of two secrets", "decode old", "core decode"),
      row("decode a token that was decoded before", "decode again", "core decode"),
      ...(remote ? [row("TokenService.Decode over gRPC, same machine", "remote", "core decode")] : []),
    ],
  ),
].join("\n\n")
process.stdout.write(`${report}\n`)
if (!options.dry) writeSection("bench/token.ts", report)
