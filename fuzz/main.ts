// Sends inputs that no regular client would send to a server of its own, and checks the reactions. See README.md.
//
//   node fuzz/main.ts --seed 42 --inputs 1000000
//   node fuzz/main.ts --replay build/fuzz/42-1.json

import { join } from "node:path"
import { parseArgs } from "node:util"
import { openFindings, readFinding } from "./findings.ts"
import { replay, run } from "./run.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    inputs: { type: "string", default: "1000000" },
    replay: { type: "string" },
    /** Leaves out the hostile inputs: requests that cost their sender little and the server much. */
    "skip-hostile": { type: "boolean", default: false },
    /** Sends only a part of the hostile inputs. 2/4 is every fourth, starting with the second. */
    "hostile-part": { type: "string", default: "1/1" },
    /** The folder for findings. */
    folder: { type: "string", default: join("build", "fuzz") },
    /** Modules that the server loads first, to inject faults. */
    import: { type: "string", multiple: true, default: [] },
  },
})
const [seed, inputs] = [Number(values.seed), Number(values.inputs)]
if (!Number.isInteger(seed) || !(inputs > 0)) throw new Error("--seed and --inputs must be numbers")

const [part = 0, parts = 0] = values["hostile-part"].split("/").map(Number)
if (!(part >= 1 && part <= parts)) throw new Error("--hostile-part must be K/N")

// Exits on these signals, so that the exit handler kills the server.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))

const say = (text: string) => void process.stdout.write(`${text}\n`)
const findings = openFindings(values.folder, seed, say)
if (values.replay === undefined) {
  say(`seed ${seed}`)
  await run({
    seed,
    inputs,
    findings,
    say,
    imports: values.import,
    hostile: values["skip-hostile"] ? undefined : { part, parts },
  })
} else await replay({ inputs: readFinding(values.replay), findings, say, imports: values.import })
for (const [kind, count] of findings.counts) say(`found ${count} times: ${kind}`)
say(findings.counts.size === 0 ? "no findings" : `${findings.counts.size} findings`)
process.exit(findings.counts.size === 0 ? 0 : 1)
