import { type PipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { until } from "@authwire/test-support/until.js"

type LoadedClient = Pick<PipelineClient, "adapter" | "tokens" | "close">

/**
 * Starts callers that read until they are stopped; half of them also write. A write may share a transaction with one that a test holds
 * up, so that those who write may all wait.
 */
export function load({ adapter, tokens, close }: LoadedClient, callers: number) {
  const outcomes: string[] = []
  let created = 0
  let stopped = false
  const call = async (one: Promise<unknown>) => {
    const end = await one.then(() => "OK", String)
    outcomes.push(end)
    return end === "OK"
  }
  const work = Array.from({ length: callers }, async (_, caller) => {
    while (!stopped) {
      await call(adapter.getUser(`${caller}`))
      // A call that the client does not repeat.
      await call(tokens.encode({ payload: {}, salt: "s" }))
      // Without an id, each execution would create another user.
      if (caller % 2 === 0 && (await call(adapter.createUser({ name: "load", emailVerified: null } as never))))
        created++
    }
  })
  return {
    /** Resolves when calls that began after this have ended. */
    async goesOn() {
      const before = outcomes.length
      await until(() => outcomes.length > before + callers * 10)
    },
    async stop() {
      stopped = true
      await Promise.all(work)
      close()
      return { outcomes: tally(outcomes), created }
    },
  }
}
