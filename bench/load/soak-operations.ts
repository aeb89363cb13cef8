import { randomUUID } from "node:crypto"
import { userId } from "../data/keys.ts"
import { anySession, type Call, type OperationName, operations, type Situation } from "./operations.ts"

/** As often as applications call it, more or less; the whole is mostly reading. */
const mix: [OperationName, number][] = [
  ["getSessionAndUser", 70],
  ["getUserByAccount", 10],
  ["createSession + deleteSession", 10],
  ["sign-in, known user", 5],
  ["sign-in, new user", 3],
  ["createVerificationToken + useVerificationToken", 1],
]

/** What `make soak` does for a long time, and very often. */
export const soakOperations = {
  /** All operations, and what is not there, which is an error on the wire. */
  "everything mixed": (situation) => {
    const calls = mix.flatMap(([name, share]) => Array.from({ length: share }, () => operations[name](situation)))
    calls.push(async () => {
      if (await situation.adapter.getSessionAndUser?.(randomUUID())) throw new Error("a session is found")
    })
    return async () => calls[Math.floor(situation.random() * calls.length)]?.()
  },

  /** Calls that are given up: some before they left, some on their way, some when their answer is almost there. */
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
