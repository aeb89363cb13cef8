import { requireKeys } from "../../bootstrap/auth.js"
import { type Addresses, announce } from "../../bootstrap/banner.js"
import { openMigratedDatabase, storeOf } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import { openInstruments } from "../../bootstrap/instruments.js"
import { runServer } from "../../bootstrap/server.js"
import type { Configuration } from "../../config/configuration.js"
import { createLog } from "../../logging/logger.js"
import { formatAddress } from "../../util/address.js"
import { stopSignal } from "./stop-signal.js"

/**
 * `authwire serve`: serves until the process gets a signal. Throws StartError if an external problem prevents the start.
 *
 * @returns The exit code.
 */
export async function serve(configuration: Configuration): Promise<number> {
  // Not with CommandOutput, because the service does not depend on whether its addresses can be printed.
  const print = (text: string) => void process.stdout.write(text)
  const signaled = stopSignal()
  const { dev, tlsCert } = configuration
  const log = createLog(configuration)
  for (const doubt of configuration.doubts) log.warn(doubt)
  const complete = withDevSecret(configuration)
  const instruments = await openInstruments(complete, log)
  const store = storeOf(await openMigratedDatabase(complete, log, instruments), complete)
  try {
    await requireKeys(configuration, { store, log })
  } catch (error) {
    await store.close()
    throw error
  }
  let closeConsole = async () => {}
  await runServer(complete, {
    store,
    log,
    instruments,
    async onListening(addresses: Addresses) {
      const tls = tlsCert !== undefined
      try {
        if (!tls) closeConsole = await devConsole(configuration, addresses, print)
      } catch (error) {
        log.warn({ err: error }, "the console is not served")
      }
      announce(addresses, { print, log, dev, tls })
    },
    stopped: signaled.then((signal) => {
      const { drainDelayMs, shutdownGraceMs } = configuration
      const facts = { signal, drain_delay_ms: drainDelayMs, grace_ms: shutdownGraceMs }
      log.info(facts, "stopping: finishing the active calls")
    }),
  })
  await closeConsole()
  log.info("stopped")
  return 0
}

/**
 * Serves the console beside a service for development, at another port if its own is in use.
 *
 * @returns What ends it.
 */
async function devConsole(
  { dev, console, consolePort }: Configuration,
  { http }: Addresses,
  print: (text: string) => void,
) {
  if (!dev || console === "off" || http === undefined) return async () => {}
  const { startConsole } = await import("@authwire/console")
  const options = {
    service: `http://${formatAddress(http)}`,
    onAddress: (url: string) => print(`authwire: console at ${url} (this address works once)\n`),
  }
  const served = await startConsole({ ...options, port: consolePort }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error
    return startConsole(options)
  })
  return served.close
}
