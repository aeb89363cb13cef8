// Draws what `node --cpu-prof` wrote as a flame graph.
//
//   node bench/flame-graph.ts FILE.cpuprofile OUT.svg

import { readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { flameGraph } from "./report/flame-graph.ts"
import { foldProfile } from "./report/folded-profile.ts"

const [from, to] = process.argv.slice(2)
if (from === undefined || to === undefined) {
  process.stderr.write("usage: node bench/flame-graph.ts FILE.cpuprofile OUT.svg\n")
  process.exit(1)
}
writeFileSync(to, flameGraph(foldProfile(JSON.parse(readFileSync(from, "utf8"))), basename(from)))
