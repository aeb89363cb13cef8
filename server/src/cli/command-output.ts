import { fstatSync } from "node:fs"
import { StartError } from "../errors/start-error.js"
import { fileSink, streamSink } from "../logging/line-sink.js"
import type { CommandOutput } from "./commands/output.js"

/** The error of output whose reader has closed the pipe. It is not reported, because the reader knows. */
export class OutputClosedError extends StartError {}

/** Opens the output of this process. `printed` resolves when everything is written, and rejects as `print` does. */
export function commandOutput(): CommandOutput & { printed: () => Promise<void> } {
  // Node's own stream of a file ignores that only a part of a text was written.
  const sink = fstatSync(1).isFile() ? fileSink(1) : streamSink(process.stdout)
  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      sink.write(text, (cause) => {
        if (!cause) resolve()
        else {
          const reason = "code" in cause ? cause.code : cause.message
          const Failure = reason === "EPIPE" ? OutputClosedError : StartError
          reject(new Failure(`standard output cannot be written (${reason})`, { cause }))
        }
      })
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
