import { type ChildProcess, fork } from "node:child_process"

/** The addresses of a process of the example, by name. */
export type Addresses = Record<string, string>

/**
 * Prints the line, and sends the addresses to the parent process if there is one. The process exits with its parent.
 */
export function announce(line: string, addresses: Addresses): void {
  console.log(line)
  // The channel also closes when the parent is killed. The process must exit then, so that it releases its ports.
  const end = () => process.exit(1)
  process.on("disconnect", end)
  process.send?.(addresses, (error: Error | null) => error && end())
}

/**
 * Starts another program of this example and waits for its addresses. If the program exits at any time, this process
 * exits too, because the example needs all its parts. The program has then printed the cause.
 */
export async function startChild(program: URL, environment: NodeJS.ProcessEnv): Promise<Addresses> {
  const child: ChildProcess = fork(program, { env: { ...process.env, ...environment } })
  child.once("exit", (code) => process.exit(code || 1))
  return new Promise((resolve) => child.once("message", (addresses) => resolve(addresses as Addresses)))
}
