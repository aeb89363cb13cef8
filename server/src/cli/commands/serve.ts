import { requireKeys } from "../../bootstrap/auth.js"
import { type Addresses, announce } from "../../bootstrap/banner.js"
import { openMigratedDatabase, storeOf } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import { openInstruments } from "../../bootstrap/instruments.js"
import { runServer } from "../../bootstrap/server.js"
import { serveWithWorkers } from "../../cluster/primary.js"
import type { Configuration } from "../../config/configuration.js"
import { readinessSwitch } from "../../health/readiness.js"
import { createLog } from "../../logging/logger.js"
import { formatAddress } from "../../util/address.js"
import { stopSignal } from "./stop-signal.js"

/**
 * `authwire serve`: does the work that must happen only once, then serves until the process gets a signal, in this
 * process or in several. Throws StartError if an external problem prevents the start.
 *
 * @returns The exit code: 1 if a worker did not end successfully.
 */
export async function serve(configuration: Configuration): Promise<number> {
  // Not with CommandOutput, because the service does not depend on whether its addresses can be printed.
  const print = (text: string) => void process.stdout.write(text)
  const signaled = stopSignal()
  const { dev, workers, tlsCert } = configuration
  const log = createLog(configuration)
  for (const doubt of configuration.doubts) log.warn(doubt)
  const complete = withDevSecret(configuration)
  // Each worker has instruments of its own.
  const instruments =
    workers === 1 ? await openInstruments(complete, { log }) : { metrics: undefined, tracing: undefined }
  const store = storeOf(await openMigratedDatabase(complete, log, instruments), complete)
  try {
    await requireKeys(configuration, { store, log })
  } catch (error) {
    await store.close()
    throw error
  }
  let closeConsole = async () => {}
  const common = {
    log,
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
  }
  let endedWell = true
  if (workers === 1) {
    const readiness = readinessSwitch()
    await runServer(complete, { ...common, store, readiness, instruments, onDatabase: readiness.set })
  } else {
    // Each worker opens a store of its own.
    await store.close()
    endedWell = await serveWithWorkers(complete, common)
  }
  await closeConsole()
  log.info("stopped")
  return endedWell ? 0 : 1
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
