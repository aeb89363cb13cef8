import { ConfigurationError } from "../errors/configuration-error.js"
import { StartError } from "../errors/start-error.js"
import { printable } from "../util/printable.js"
import { ownVersion } from "../util/version.js"
import { type CommandOutput, commandOutput, OutputClosedError } from "./commands/output.js"
import { runProgram } from "./program.js"

/** Runs the command `authwire` in this process. Resolves to the exit code, see execute. */
export async function main(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  // The reader of the output may close it. That must not end the service. Other commands fail, see CommandOutput.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  try {
    return await execute(args, environment, commandOutput())
  } finally {
    exitAfterPendingLines()
  }
}

/**
 * Runs the command that the arguments name, with its output. `printed` resolves when everything is written. Resolves to
 * the exit code: 0 for success, 1 for an external problem (one line says what to do, unless the reader of the output is
 * gone), 2 for an invalid option.
 */
export async function execute(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  { printed, ...output }: CommandOutput & { printed: () => Promise<void> },
): Promise<number> {
  const version = ownVersion()
  try {
    const exitCode = await runProgram(args, { environment, version, output })
    await printed()
    return exitCode
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof StartError)) throw error
    // An id in the message was chosen by a caller. It must not begin another line.
    if (!(error instanceof OutputClosedError)) output.say(`authwire: ${printable(error.message)}\n`)
    return error instanceof ConfigurationError ? 2 : 1
  }
}

/** How long the process waits for unwritten lines when it has nothing else to do, in milliseconds. */
export const exitFlushMs = 1_000

/** Ends this process soon if only unwritten lines without a reader keep it running. */
function exitAfterPendingLines(): void {
  setTimeout(() => process.exit(), exitFlushMs).unref()
}
