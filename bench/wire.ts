// Measures Authwire over the wire against the adapters that it replaces, and writes bench/results/wire.json and its
// section of docs/performance.md. Needs a build, and MySQL: at AUTHWIRE_BENCH_MYSQL_URL or AUTHWIRE_TEST_MYSQL_URL, or as a
// program on the path. The databases that it fills, bench_…, stay for the next run.
//
//   node bench/wire.ts [--quick] [--only getSessionAndUser,growth] [--contenders authwire-pipeline,drizzle] [--rounds 7]
//                      [--seconds 1] [--callers 1,8,32,128] [--users 100000] [--drop] [--dry]
//
// --only takes operations, and `operations`, `growth`, `memory`, `workers` and `access`. What is not a full run prints its tables and
// leaves its results in build/bench.

import { dropAll } from "./data/loaded-database.ts"
import { type MysqlServer, openMysqlServer } from "./data/mysql-server.ts"
import { readFacts } from "./facts.ts"
import { readOptions } from "./options.ts"
import { writeSection } from "./report/markdown.ts"
import { wirePlots, wireReport } from "./report/wire.ts"
import { resultsFolder, trialFolder, type WireResults, writeResults } from "./results.ts"
import { measureAccess } from "./sections/access.ts"
import { measureGrowth } from "./sections/growth.ts"
import { measureMemory } from "./sections/memory.ts"
import { measureOperations } from "./sections/operations.ts"
import { openStage, type Stage } from "./sections/stage.ts"
import { measureWorkers } from "./sections/workers.ts"

const options = readOptions()
const preset = options.quick
  ? { rounds: 1, seconds: 0.1, callers: [1, 32], users: 1_000, sizes: [1_000, 2_000], streams: [1, 100], pool: 0 }
  : {
      ...{ rounds: 7, seconds: 1, callers: [1, 8, 32, 128], users: 100_000 },
      sizes: [10_000, 100_000, 1_000_000],
      streams: [1, 1_000, 10_000],
      // The data of everyone, so that nobody waits for the disk to read.
      pool: 3 * 2 ** 30,
    }
const { rounds = preset.rounds, seconds = preset.seconds, callers = preset.callers, users = preset.users } = options
const pace = { rounds, windowMs: seconds * 1000, warmUpMs: seconds * 250 }
const warmUpMs = seconds * 2000
/** The look-up that every request makes is measured most exactly. */
const fewer = { ...pace, rounds: Math.min(3, rounds) }

const begun = performance.now()
function say(text: string) {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}\n`)
}

if (options.operations.length > 0 || (["growth", "memory", "workers", "access"] as const).some(options.has)) {
  const mysql = await openMysqlServer(preset.pool)
  try {
    const stage = openStage(mysql, say)
    await write(await measure(mysql, stage).finally(stage.clear))
  } finally {
    await mysql.close()
  }
}

async function write(results: WireResults): Promise<void> {
  const keep = options.full && !options.dry
  const report = wireReport(results)
  process.stdout.write(`${report}\n`)
  writeResults("wire", results, keep ? resultsFolder : trialFolder)
  if (keep) {
    writeSection("bench/wire.ts", report)
    await wirePlots(results)
  }
}

async function measure(mysql: MysqlServer, stage: Stage): Promise<WireResults> {
  if (options.drop) await dropAll(mysql)
  const { operations, contenders: names } = options
  const paceOf = (operation: string) => (operation === "getSessionAndUser" ? pace : fewer)
  return {
    facts: readFacts(mysql),
    ...{ users, rounds, windowMs: pace.windowMs },
    operations:
      operations.length > 0
        ? await measureOperations(stage, { names, operations, users, callers, warmUpMs, pace: paceOf })
        : [],
    growth: options.has("growth")
      ? await measureGrowth(stage, { sizes: preset.sizes, callers: [1, 32], warmUpMs, pace })
      : [],
    memory: options.has("memory") ? await measureMemory(stage, preset.sizes[0] ?? users, preset.streams) : [],
    access: options.has("access") ? await measureAccess(stage, { users, callers: [1, 32], warmUpMs, pace }) : [],
    workers: options.has("workers") ? await measureWorkers(stage, { users, callers: 32, warmUpMs, pace }) : [],
  }
}
