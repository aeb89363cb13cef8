import { startConsole } from "@authwire/console"
import { StartError } from "../../errors/start-error.js"
import type { Work } from "./output.js"
import { stopSignal } from "./stop-signal.js"

/** `authwire console`: serves the console for a running service, until a signal. Throws StartError. */
export const serveConsole: Work<"console"> = async (
  { consoleServiceUrl, serviceKey, consolePort, consoleTenant },
  { print },
) => {
  const stopped = stopSignal()
  const console = await startConsole({
    service: consoleServiceUrl,
    apiKey: serviceKey,
    tenant: consoleTenant,
    port: consolePort,
    onAddress: (url) => void print(`authwire: console at ${url} (this address works once)\n`),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error
    throw new StartError(`--console-port: port ${consolePort} is in use; 0 picks a free one`, { cause: error })
  })
  await stopped
  await console.close()
}
