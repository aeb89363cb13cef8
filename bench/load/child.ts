import { fork } from "node:child_process"
import { once } from "node:events"
import { getPriority, setPriority } from "node:os"

/** A process that does what this one asks of it, one thing after the other. */
export interface Child {
  readonly pid: number
  /** Throws what the other side threw. */
  ask(request: object): Promise<unknown>
  stop(): Promise<void>
}

type Answer = { value?: unknown; error?: string }

/**
 * Starts a script of this folder, which answers by `answerParent`.
 *
 * @param options.nice - How much later than others it has the processor.
 */
export async function startChild(
  script: string,
  args: readonly string[] = [],
  { nodeArgs = [], nice = 0 }: { nodeArgs?: readonly string[]; nice?: number } = {},
): Promise<Child> {
  const child = fork(new URL(script, import.meta.url), args, {
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

/** In such a process: says that it is ready, answers each request, and ends with the parent. */
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
