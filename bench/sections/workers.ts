import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { type Side, startSide } from "../load/sides.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import { type ServerProcess, startAuthwire } from "../servers/processes.ts"
import type { Stage } from "./stage.ts"

/** One for each of two workers: they get connections in turn. */
export const workerConnections = 2

/** One and two workers, the load generator on the same cores. Figures have the number of workers as name. */
export async function measureWorkers(
  stage: Stage,
  options: { users: number; callers: number; warmUpMs: number; pace: Pace },
): Promise<Figure[]> {
  const { users, callers, warmUpMs, pace } = options
  const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
  if (!execFileSync(process.execPath, [command, "serve", "--help"], { encoding: "utf8" }).includes("--workers")) {
    stage.say("authwire serve has no --workers: left out")
    return []
  }
  const database = await stage.database("authwire", users)
  const servers: ServerProcess[] = []
  const sides: Side[] = []
  const turns: Turn[] = []
  for (const workers of [1, 2]) {
    const server = await startAuthwire(database.url, { args: [`--workers=${workers}`] })
    servers.push(server)
    const places = { ...server.places, connections: workerConnections }
    const side = await startSide("authwire-pipeline", places, [server.pid, stage.mysql.pid ?? 0])
    sides.push(side)
    await side.check(users)
    turns.push({ name: String(workers), users, side })
  }
  // Of two workers each has half of the calls, and V8 makes a process faster over its first 100,000 or so.
  await warmUp(turns, "getSessionAndUser", 8 * warmUpMs)
  const figures = await takeTurns(turns, "getSessionAndUser", callers, pace)
  for (const side of sides) await side.stop()
  for (const server of servers) await server.stop()
  stage.say("measured one and two workers")
  return figures
}
