import { main } from "../dist/cli/main.js"

// The service of a test ends with the process that has started it, in whatever way that ends.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
process.channel?.unref()
process.exitCode = await main(process.argv.slice(2), process.env)
