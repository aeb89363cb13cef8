import { type Side, startSide } from "../load/sides.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import { type ServerProcess, startAuthwire } from "../servers/processes.ts"
import type { Stage } from "./stage.ts"

/** What nobody checks: `--dev` lets in whoever brings no key, and nothing is counted. */
const unchecked = ["--dev", "--log-format=json", "--rate-limit=0", "--rate-limit-overrides="]

/**
 * What it costs to know who calls: a service that checks key, scope and rate of every call, and one that lets everybody
 * in. Figures are named `checked` and `unchecked`.
 */
export async function measureAccess(
  stage: Stage,
  options: { users: number; callers: readonly number[]; warmUpMs: number; pace: Pace },
): Promise<Figure[]> {
  const { users, callers, warmUpMs, pace } = options
  const database = await stage.database("authwire", users)
  const servers: ServerProcess[] = []
  const sides: Side[] = []
  const turns: Turn[] = []
  for (const name of ["checked", "unchecked"]) {
    const server = await startAuthwire(database.url, name === "checked" ? {} : { args: unchecked })
    servers.push(server)
    const places = name === "checked" ? server.places : { ...server.places, keyless: true }
    const side = await startSide("authwire-pipeline", places, [server.pid, stage.mysql.pid ?? 0])
    sides.push(side)
    await side.check(users)
    turns.push({ name, users, side })
  }
  await warmUp(turns, "getSessionAndUser", warmUpMs)
  const figures: Figure[] = []
  for (const count of callers) figures.push(...(await takeTurns(turns, "getSessionAndUser", count, pace)))
  for (const side of sides) await side.stop()
  for (const server of servers) await server.stop()
  stage.say("measured with and without checks of who calls")
  return figures
}
