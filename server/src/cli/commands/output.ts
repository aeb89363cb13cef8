import { fstatSync, writeFile } from "node:fs"
import { createInterface } from "node:readline/promises"
import Table from "cli-table3"
import type { Configuration } from "../../config/configuration.js"
import type { Command } from "../../config/option.js"
import { StartError } from "../../errors/start-error.js"
import { printable, printableLines } from "../../util/printable.js"

export interface CommandOutput {
  /** Writes the result. Rejects with StartError if it cannot; then a command that did not wait fails at its end. */
  print: (text: string) => Promise<void>
  /** Writes to standard error: remarks about the result. */
  say: (text: string) => void
}

/** Runs a command. Resolves to the exit code; undefined means 0. Throws ConfigurationError and StartError. */
export type Work<C extends Command> = (
  configuration: Configuration<C>,
  output: CommandOutput,
  argument: string,
) => Promise<number | undefined>

/** The error of output whose reader has closed the pipe. It is not reported, because the reader knows. */
export class OutputClosedError extends StartError {}

/** Opens the output of this process, which shows no text that controls the terminal. `printed` resolves when everything is written, and rejects as `print` does. */
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
      last = last.then(() => write(printableLines(text)))
      last.catch(() => {})
      return last
    },
    printed: () => last,
    say: (text) => void process.stderr.write(printableLines(text)),
  }
}

const noLines = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "", "bottom-left": "" },
  ...{ "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
}

/** Formats a table with a heading line. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 0 }
  const text = new Table({ head: [...head], chars: noLines, style })
  text.push(...rows.map((cells) => cells.map(printable)))
  return `${text.toString().replaceAll(/ +$/gm, "")}\n`
}

/** Asks for a line on standard input; returns undefined if that ends. */
export async function typedLine(question: string, say: (text: string) => void): Promise<string | undefined> {
  say(question)
  const lines = createInterface({ input: process.stdin })
  for await (const line of lines) return line.trim()
  return undefined
}
