import { createRequire } from "node:module"
import { StartError } from "../bootstrap/start-error.js"
import { ConfigurationError } from "./config/error.js"
import { runProgram } from "./program.js"

/**
 * Runs the command `authwire`. Resolves to the exit code: 0 for success, 1 for an external problem (one line on
 * standard error says what to do), 2 for an invalid option.
 */
export async function main(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  // The reader of the output may close it. That must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }
  const output = {
    print: (text: string) => void process.stdout.write(text),
    say: (text: string) => void process.stderr.write(text),
  }
  try {
    return await runProgram(args, { environment, version, output })
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof StartError)) throw error
    // An id in the message was chosen by a caller. It must neither control the terminal nor begin another line.
    output.say(`authwire: ${error.message.replaceAll(/\p{Cc}/gu, "?")}\n`)
    return error instanceof ConfigurationError ? 2 : 1
  }
}
