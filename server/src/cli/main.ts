import { createRequire } from "node:module"
import { type Configuration, readConfiguration } from "./config/configuration.js"
import { ConfigurationError } from "./config/error.js"
import { endEvenUnread } from "../bootstrap/end-even-unread.js"
import { helpText } from "./help.js"
import { keys } from "./commands/keys.js"
import { migrate } from "./commands/migrate.js"
import { rekey } from "./commands/rekey.js"
import { runService } from "./commands/serve.js"
import { StartError } from "../bootstrap/start-error.js"
import { tenants } from "./commands/tenants.js"

/**
 * Runs the command `authwire`. Resolves to the exit code: 0 when all is well, 1 when something outside is in the way
 * (one line on standard error says what to do), 2 for a wrong option.
 */
export async function main(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  // Whoever reads this may go away. That ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const print = (text: string) => process.stdout.write(text)
  const say = (text: string) => process.stderr.write(text)
  try {
    const [command, ...rest] = args
    if (command === "--version" || command === "-v") {
      const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }
      print(`authwire ${version}\n`)
    } else if (args.includes("--help") || args.includes("-h") || command === "help") {
      print(helpText())
    } else if (command === "serve") {
      const { configuration, positionals } = readConfiguration("serve", rest, environment)
      if (positionals[0] !== undefined) throw new ConfigurationError("serve takes options only; see authwire --help")
      try {
        return await runService(configuration, { print, stopped: stopSignal() })
      } finally {
        endEvenUnread()
      }
    } else if (command === "migrate") {
      const { configuration, positionals } = readConfiguration("migrate", rest, environment)
      await migrate(configuration as Configuration, positionals, { print })
    } else if (command === "rekey") {
      const { configuration, positionals } = readConfiguration("rekey", rest, environment)
      return await rekey(configuration, positionals, { print })
    } else if (command === "keys") {
      const { configuration, positionals, given } = readConfiguration("keys", rest, environment)
      await keys(configuration, positionals, given, { print, say })
    } else if (command === "tenants") {
      const { configuration, positionals } = readConfiguration("tenants", rest, environment)
      await tenants(configuration, positionals, { print, say })
    } else {
      throw new ConfigurationError("the commands are serve, migrate, rekey, keys and tenants; see authwire --help")
    }
    return 0
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof StartError)) throw error
    process.stderr.write(`authwire: ${error.message}\n`)
    return error instanceof ConfigurationError ? 2 : 1
  }
}

// The first signal of either kind; from then on both end the process at once, as without us.
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ["SIGTERM", "SIGINT"] as const
    const stop = (signal: NodeJS.Signals) => {
      for (const one of signals) process.off(one, stop)
      resolve(signal)
    }
    for (const one of signals) process.on(one, stop)
  })
}
