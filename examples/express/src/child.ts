import { type ChildProcess, fork } from "node:child_process"

/** Where a process of the example can be reached, by name. */
export type Addresses = Record<string, string>

/** Says on the standard output, and to the parent if there is one, where this process listens; ends with its parent. */
export function announce(line: string, addresses: Addresses): void {
  console.log(line)
  // The channel closes also when the parent is killed the hard way: then nothing may be left that holds the ports.
  const end = () => process.exit(1)
  process.on("disconnect", end)
  process.send?.(addresses, (error: Error | null) => error && end())
}

/**
 * Starts another program of this example and waits for its addresses. When it ends, before or after, this process ends too:
 * half an example explains nothing. The program has then said why.
 */
export async function startChild(program: URL, environment: NodeJS.ProcessEnv): Promise<Addresses> {
  const child: ChildProcess = fork(program, { env: { ...process.env, ...environment } })
  child.once("exit", (code) => process.exit(code || 1))
  return new Promise((resolve) => child.once("message", (addresses) => resolve(addresses as Addresses)))
}
