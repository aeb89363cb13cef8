import { randomUUID } from "node:crypto"
import { userId } from "../data/keys.ts"
import { anySession, type Call, type OperationName, operations, type Situation } from "./operations.ts"

/** The percentages of the operations, roughly as in applications: most of them read. */
const mix: [OperationName, number][] = [
  ["getSessionAndUser", 70],
  ["getUserByAccount", 10],
  ["createSession + deleteSession", 10],
  ["sign-in, known user", 5],
  ["sign-in, new user", 3],
  ["createVerificationToken + useVerificationToken", 1],
]

/** The operations that `make soak` runs for a long time. */
export const soakOperations = {
  /** Runs all operations, and lookups of a missing session, which are errors on the wire. */
  "everything mixed": (situation) => {
    const calls = mix.flatMap(([name, share]) => Array.from({ length: share }, () => operations[name](situation)))
    calls.push(async () => {
      if (await situation.adapter.getSessionAndUser?.(randomUUID())) throw new Error("a session is found")
    })
    return async () => calls[Math.floor(situation.random() * calls.length)]?.()
  },

  /** Cancels calls: some before they are sent, some on their way, some shortly before their answer arrives. */
  "cancelled calls": (situation) => {
    const { client, random } = situation
    if (client === undefined) throw new Error("this contender has no calls that can be cancelled")
    return async () => {
      const controller = new AbortController()
      const { signal } = controller
      const call =
        random() < 0.5
          ? client.sessions.getSessionAndUser({ sessionToken: anySession(situation) }, { signal })
          : client.users.getUser({ id: userId(0) }, { signal })
      const way = random()
      if (way < 0.3) controller.abort()
      else if (way < 0.6) setImmediate(() => controller.abort())
      else setTimeout(() => controller.abort(), 1)
      await call.catch(() => {})
    }
  },
} satisfies Record<string, (situation: Situation) => Call>

export type SoakOperationName = keyof typeof soakOperations
