import type { SqlEngine } from "../engine/engine.js"
import type { Members } from "./members.js"

/**
 * Creates the engine that forwards to the member in use.
 *
 * @param first the engine of any member. It builds the statements, which are the same for all members.
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
