// Compares Authwire with the adapters that it replaces, over the wire. Writes bench/results/wire.json and its section
// of bench/results.md. Needs a build, and MySQL: at AUTHWIRE_BENCH_MYSQL_URL or AUTHWIRE_TEST_MYSQL_URL, or as a
// program on the path. It creates its own databases, authwire_bench_…, and removes them.
//
//   node bench/wire.ts [--quick] [--only getSessionAndUser,growth] [--contenders authwire-pipeline,drizzle] [--rounds 7]
//                      [--seconds 1] [--callers 1,8,32,128] [--users 100000] [--dry]
//
// --only takes names of operations, `operations` and `growth`. A partial run, or one whose floors are slower than in
// another run of the same day, prints its tables and writes its results to build/bench.

import { openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { slowFloors } from "./floors.ts"
import { readOptions } from "./options.ts"
import { writeSection } from "./report/markdown.ts"
import { wireReport } from "./report/wire.ts"
import { resultsFolder, trialFolder, type WireResults, writeResults } from "./results.ts"
import { measureGrowth } from "./sections/growth.ts"
import { measureOperations } from "./sections/operations.ts"
import { openStage } from "./sections/stage.ts"

const options = readOptions()
const preset = options.quick
  ? { rounds: 1, seconds: 0.1, callers: [1, 32], users: 1_000, sizes: [1_000, 2_000], pool: 0 }
  : {
      ...{ rounds: 7, seconds: 1, callers: [1, 8, 32, 128], users: 100_000, sizes: [10_000, 100_000, 1_000_000] },
      // Enough for the data of all contenders, so that no call waits for a disk read.
      pool: 3 * 2 ** 30,
    }
const { rounds = preset.rounds, seconds = preset.seconds, callers = preset.callers, users = preset.users } = options
const { operations, contenders: names } = options
const pace = { rounds, windowMs: seconds * 1000, warmUpMs: seconds * 250 }
// The code path of a write is long, so it takes the process some seconds to reach its full speed.
const warmUpMs = seconds * 6000
/** Operations other than the lookup of every request have fewer rounds. */
const fewer = { ...pace, rounds: Math.min(3, rounds) }
const paceOf = (operation: string) => (operation === "getSessionAndUser" ? pace : fewer)

if (operations.length > 0 || options.has("growth")) {
  const mysql = await openMysqlServer(preset.pool)
  const stage = openStage(mysql)
  try {
    const results: WireResults = {
      facts: readFacts(mysql),
      ...{ users, rounds, windowMs: pace.windowMs },
      operations:
        operations.length > 0
          ? await measureOperations(stage, { names, operations, users, callers, warmUpMs, pace: paceOf })
          : [],
      growth: options.has("growth")
        ? await measureGrowth(stage, { sizes: preset.sizes, callers: [1, 32], warmUpMs, pace })
        : [],
    }
    const report = wireReport(results)
    process.stdout.write(`${report}\n`)
    // Floors of a run with another size cannot be compared.
    const isUsual = !options.quick && users === preset.users && seconds === preset.seconds
    const slow = isUsual ? slowFloors(results.operations) : []
    for (const text of slow) process.stderr.write(`Not kept, the machine is slow. ${text}\n`)
    const isKept = options.full && isUsual && !options.dry && slow.length === 0
    writeResults("wire", results, isKept ? resultsFolder : trialFolder)
    if (isKept) writeSection("bench/wire.ts", report)
  } finally {
    await stage.clear()
    await mysql.close()
  }
}
