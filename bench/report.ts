// Writes the tables of docs/performance.md from the results in bench/results.
//
//   node bench/report.ts

import { attackReport } from "./report/attack.ts"
import { floodReport } from "./report/flood.ts"
import { writeSection } from "./report/markdown.ts"
import { overview } from "./report/overview.ts"
import { soakReport } from "./report/soak.ts"
import { wireReport } from "./report/wire.ts"
import { readResults } from "./results.ts"

const wire = readResults("wire")
if (wire !== undefined) {
  writeSection("bench/report.ts", overview(wire))
  writeSection("bench/wire.ts", wireReport(wire))
}
const soak = readResults("soak")
if (soak !== undefined) writeSection("bench/soak.ts", soakReport(soak))
const flood = readResults("flood")
if (flood !== undefined) writeSection("bench/flood.ts", floodReport(flood))
const attack = readResults("attack")
if (attack !== undefined) writeSection("bench/attack.ts", attackReport(attack))
