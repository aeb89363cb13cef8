import type { SqlEngine } from "../engine/engine.js"
import type { Members } from "./members.js"

/**
 * The engine of whichever member is in use.
 *
 * @param first of any member: what the statements are built by, which are the same for all.
 */
export function clusterEngine(first: SqlEngine, members: Members): SqlEngine {
  return {
    ...first,
    hasOtherMembers: true,
    connect: async () => (await members.engine()).connect(),
    withQueryRunner: async (work) => (await members.engine()).withQueryRunner(work),
    withSchemaLock: async (work) => (await members.engine()).withSchemaLock(work),
    close: members.close,
  }
}
