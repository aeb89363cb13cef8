import type { ChildProcess } from "node:child_process"
import { until } from "../until.ts"

// Loaded by jest and by Node directly.

/** What a process has printed so far: on each stream, and on both together. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
  readonly both: string
}

/** Collects what a process prints. */
export function outputOf(child: ChildProcess): Output {
  const output = { stdout: "", stderr: "", both: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.on("data", (chunk: Buffer) => {
      output[name] += chunk
      output.both += chunk
    })
  }
  return output
}

/** Waits until a process has printed a text, or has ended without it. */
export async function hasPrinted(child: ChildProcess, output: Output, text: RegExp): Promise<boolean> {
  const isThere = () => text.test(output.both)
  await until(() => isThere() || child.exitCode !== null || child.signalCode !== null, 60_000)
  return isThere()
}
