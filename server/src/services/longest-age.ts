import { StoreError } from "../errors/store-error.js"
import type { SessionPolicyStore } from "../store/store.js"
import { orAborted } from "../util/abort.js"
import { oncePer } from "../util/once-per.js"
import { oneAtATime } from "../util/one-at-a-time.js"

/** How long a policy that was read is used without another read, in milliseconds. */
const freshMs = 5_000

/** The timeout of a read, in milliseconds. JWTs are issued during an outage of the database, by the policy that is known. */
const readMs = 1_000

/** Returns how long a tenant's sessions may last, in ms, if limited. Throws DATABASE_UNAVAILABLE if never read. */
export type LongestAge = (tenant: string) => Promise<number | undefined>

/** @param clock a clock for durations, in milliseconds, that also advances while the machine is suspended. */
export function longestAges(policies: Pick<SessionPolicyStore, "get">, clock: () => number): LongestAge {
  const ageOf = oncePer((tenant: string) => {
    let found: { maxAge: number | undefined; until: number } | undefined
    const read = oneAtATime(async () => {
      const signal = AbortSignal.timeout(readMs)
      const asked = clock()
      const { maxAge } = await orAborted(policies.get({ tenant, signal }), signal)
      found = { maxAge, until: asked + freshMs }
    })
    return async () => {
      if (found !== undefined && clock() < found.until) return found.maxAge
      try {
        await read()
      } catch (error) {
        if (found === undefined) {
          throw new StoreError("DATABASE_UNAVAILABLE", "the session policy cannot be read", { cause: error })
        }
        found.until = clock() + freshMs
      }
      return found?.maxAge
    }
  })

  return (tenant) => ageOf(tenant)()
}
