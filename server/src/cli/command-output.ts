import { fstatSync, writeFile } from "node:fs"
import { StartError } from "../errors/start-error.js"
import type { CommandOutput } from "./commands/output.js"

/** The error of output whose reader has closed the pipe. It is not reported, because the reader knows. */
export class OutputClosedError extends StartError {}

/** Opens the output of this process. `printed` resolves when everything is written, and rejects as `print` does. */
export function commandOutput(): CommandOutput & { printed: () => Promise<void> } {
  // Node's own stream of a file ignores that only a part of a text was written.
  const isFile = fstatSync(1).isFile()
  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const done = (cause: Error | null | undefined) => {
        if (!cause) return resolve()
        const reason = "code" in cause ? cause.code : cause.message
        const OutputError = reason === "EPIPE" ? OutputClosedError : StartError
        reject(new OutputError(`standard output cannot be written (${reason})`, { cause }))
      }
      if (isFile) writeFile(1, text, done)
      else process.stdout.write(text, done)
    })
  let last = Promise.resolve()
  return {
    print(text) {
      last = last.then(() => write(text))
      last.catch(() => {})
      return last
    },
    printed: () => last,
    say: (text) => void process.stderr.write(text),
  }
}
