import { exitAfterPendingLines } from "../logging/exit-after-pending-lines.js"
import { commandOutput } from "./commands/output.js"
import { execute } from "./execute.js"

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
