import { type PipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { until } from "@authwire/test-support/until.js"

/** The rows whose creation was acknowledged to callers. */
export interface Acknowledged {
  readonly users: string[]
  readonly sessions: string[]
}

/** Starts callers that sign users up, in and out repeatedly until they are stopped. */
export function signIns({ adapter, close }: PipelineClient, callers: number) {
  const outcomes: string[] = []
  const acknowledged = { users: [] as string[], sessions: [] as string[] }
  let isStopped = false

  async function call<T>(name: string, one: Promise<T>): Promise<T> {
    try {
      const answer = await one
      outcomes.push("OK")
      return answer
    } catch (error) {
      outcomes.push(`${name}: ${error}`)
      throw error
    }
  }

  async function signUpAndOut(): Promise<void> {
    const id = crypto.randomUUID()
    const email = `${id}@example.com`
    const expires = new Date(Date.now() + 3_600_000)
    await call("createUser", adapter.createUser({ id, email, emailVerified: null }))
    acknowledged.users.push(id)
    const account = { userId: id, type: "oidc" as const, provider: "p", providerAccountId: id, access_token: "secret" }
    await call("linkAccount", adapter.linkAccount(account))
    const [kept, ended] = [crypto.randomUUID(), crypto.randomUUID()]
    for (const sessionToken of [kept, ended])
      await call("createSession", adapter.createSession({ sessionToken, userId: id, expires }))
    acknowledged.sessions.push(kept)
    await call("deleteSession", adapter.deleteSession(ended))
    await call("updateUser", adapter.updateUser({ id, name: "Ada" }))
    await call("createVerificationToken", adapter.createVerificationToken({ identifier: email, token: id, expires }))
    await call("useVerificationToken", adapter.useVerificationToken({ identifier: email, token: id }))
    const found = await call("getSessionAndUser", adapter.getSessionAndUser(kept))
    if (found?.user.name !== "Ada") outcomes.push("getSessionAndUser: not what was written")
    if ((await call("getSessionAndUser", adapter.getSessionAndUser(ended))) !== null)
      outcomes.push("getSessionAndUser: a session that was deleted")
    const owner = await call("getUserByAccount", adapter.getUserByAccount({ provider: "p", providerAccountId: id }))
    if (owner?.id !== id) outcomes.push("getUserByAccount: not what was written")
  }

  const work = Array.from({ length: callers }, async () => {
    // A failure is recorded in the outcomes, and stops all callers.
    while (!isStopped)
      await signUpAndOut().catch(() => {
        isStopped = true
      })
  })
  return {
    /** Resolves when calls that began after this have ended, or one has failed. */
    async goesOn() {
      const before = outcomes.length
      await until(() => isStopped || outcomes.length > before + callers * 30)
    },
    async stop() {
      isStopped = true
      await Promise.all(work)
      close()
      return { calls: outcomes.length, outcomes: tally(outcomes), acknowledged }
    },
  }
}
