import { fork } from "node:child_process"
import { once } from "node:events"
import { getPriority, setPriority } from "node:os"

/** A child process that executes one request of this process at a time. */
export interface Child {
  readonly pid: number
  /** Sends a request and returns the answer. Throws the error of the child process. */
  ask(request: object): Promise<unknown>
  stop(): Promise<void>
}

type Answer = { value?: unknown; error?: string }

/** The scripts of the folder `sides` that answer with `answerParent`. */
export const scripts = [
  "attack-side.ts",
  "first-chunk-side.ts",
  "flood-side.ts",
  "health-side.ts",
  "probe-side.ts",
  "shares-side.ts",
  "side.ts",
] as const

export const sidesFolder = new URL("sides/", import.meta.url)

/**
 * Starts a script in a process of its own.
 *
 * @param options.nice - The increase of the niceness, which lowers the priority of the process.
 */
export async function startChild(
  script: (typeof scripts)[number],
  args: readonly string[] = [],
  { nodeArgs = [], nice = 0 }: { nodeArgs?: readonly string[]; nice?: number } = {},
): Promise<Child> {
  const child = fork(new URL(script, sidesFolder), args, {
    execArgv: ["--disable-warning=ExperimentalWarning", ...nodeArgs],
    env: { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" },
    serialization: "advanced",
  })
  if (nice > 0) setPriority(child.pid as number, Math.min(getPriority() + nice, 19))
  const exit = once(child, "exit")
  const ended = exit.then(() => {
    throw new Error(`${script} ended`)
  })
  ended.catch(() => {})
  const answer = async () => {
    const [{ value, error }] = (await Promise.race([once(child, "message"), ended])) as [Answer]
    if (error !== undefined) throw new Error(`${[script, args[0]].join(" ")}: ${error}`)
    return value
  }
  await answer()
  return {
    pid: child.pid as number,
    ask(request) {
      child.send(request)
      return answer()
    },
    async stop() {
      if (child.connected) child.disconnect()
      await exit
    },
  }
}

/** Runs in the child process: reports that it is ready, answers each request, and exits with the parent. */
export function answerParent<Request>(answer: (request: Request) => unknown): void {
  const say = (message: Answer) => process.send?.(message)
  process.on("message", async (request) => {
    try {
      say({ value: await answer(request as Request) })
    } catch (error) {
      say({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on("disconnect", () => process.exit())
  say({})
}
