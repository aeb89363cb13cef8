import { createMetrics } from "../../metrics/metrics.js"
import { readinessSwitch } from "../../readiness.js"
import { requireKeys } from "../../bootstrap/auth.js"
import { announce } from "../../bootstrap/banner.js"
import type { Configuration } from "../config/configuration.js"
import { openMigratedStore } from "../../bootstrap/database.js"
import { createLog } from "../../bootstrap/logger.js"
import { withDevSecret } from "../../bootstrap/dev-secret.js"
import { serve } from "../../bootstrap/server.js"
import { serveWithWorkers } from "../../cluster/primary.js"

/**
 * `authwire serve`: does what must happen once, then serves until `stopped` resolves, in this process or in several.
 * Throws StartError when something outside is in the way.
 *
 * @returns the exit code: 1 if a worker had to be ended
 */
export async function runService(
  configuration: Configuration,
  io: { print: (text: string) => void; stopped: Promise<string> },
): Promise<number> {
  const { dev, logLevel: level, logFormat: format, workers, shutdownGraceMs, tls } = configuration
  const log = createLog({ level, format })
  const complete = withDevSecret(configuration)
  const store = await openMigratedStore(complete, log)
  try {
    await requireKeys(configuration, { store, log })
  } catch (error) {
    await store.close()
    throw error
  }
  const common = {
    log,
    onListening: (addresses: Parameters<typeof announce>[0]) =>
      announce(addresses, { ...io, log, dev, tls: tls !== undefined }),
    stopped: io.stopped.then((signal) => {
      log.info({ signal, grace_ms: shutdownGraceMs }, "stopping: finishing the calls under way")
    }),
  }
  let endedWell = true
  if (workers === 1) {
    const readiness = readinessSwitch()
    const metrics = configuration.metricsAddr && createMetrics()
    await serve(complete, { ...common, store, readiness, metrics, onDatabase: readiness.set })
  } else {
    // Each worker opens its own.
    await store.close()
    endedWell = await serveWithWorkers(complete, common)
  }
  log.info("stopped")
  return endedWell ? 0 : 1
}
