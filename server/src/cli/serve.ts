import { randomUUID } from "node:crypto"
import type { Logger } from "pino"
import type { Door, DoorOptions } from "../doors/door.js"
import { openGrpcDoor } from "../doors/grpc.js"
import { openHttpDoor } from "../doors/http.js"
import { type Address, formatAddress } from "../doors/listen.js"
import { monitorDatabase, type ReadinessSwitch } from "../readiness.js"
import { createService } from "../service.js"
import type { Store } from "../store/store.js"
import { openAccess } from "./access.js"
import type { Addresses } from "./announcement.js"
import { openAudit } from "./audit.js"
import type { Configuration } from "./configuration.js"
import { StartError } from "./start-error.js"
import { openTenantSecrets } from "./tenant-secrets.js"

export interface ServeOptions {
  /** Closed at the end. */
  store: Store
  log: Logger
  /** What health and probes answer. Not ready, for good, from `stopped` on. */
  readiness: ReadinessSwitch
  /** Hears whether the database answers, before the doors open and at every change. */
  onDatabase: (answers: boolean) => void
  /** Called once, when every door listens. */
  onListening: (addresses: Addresses) => void
  stopped: Promise<unknown>
}

/**
 * Serves in this process until `stopped` resolves, then lets what is under way finish, within the grace. Throws
 * StartError when something outside is in the way.
 */
export async function serve(configuration: Configuration, options: ServeOptions): Promise<void> {
  const { store, log, readiness } = options
  const doors: Door[] = []
  try {
    const monitor = await monitorDatabase({ store, log, onChange: options.onDatabase })
    const access = await openAccess(configuration, { store, log })
    const secrets = openTenantSecrets(configuration, log)
    const audit = openAudit(configuration, log)
    const { maxDeadlineMs, maxMessageBytes, maxCallsUnderWay, overloadDelayMs } = configuration
    const { rateLimit, rateLimitOverrides, databasePoolSize: databasePlaces } = configuration
    const dispatch = createService({
      store,
      readiness,
      log,
      newId: randomUUID,
      clock: () => performance.now(),
      access: access.interceptor,
      audit,
      reflection: configuration.reflection,
      health: configuration.health,
      secretsOf: secrets.of,
      secureCookie: configuration.secureCookie,
      maxDeadlineMs,
      maxMessageBytes,
      maxCallsUnderWay,
      overloadDelayMs,
      databasePlaces,
      rateLimit,
      rateLimitOverrides,
    })
    const open = async (
      flag: string,
      address: Address | undefined,
      opener: (options: DoorOptions) => Promise<Door>,
    ) => {
      if (address === undefined) return undefined
      const door = await opener({ dispatch, address, maxMessageBytes }).catch((error: unknown) => {
        throw doorError(flag, address, error)
      })
      doors.push(door)
      return door.address
    }
    const grpc = await open("--grpc-addr", configuration.grpcAddr, openGrpcDoor)
    const http = await open("--http-addr", configuration.httpAddr, (one) => openHttpDoor({ ...one, readiness }))
    options.onListening({ grpc, http })

    await options.stopped
    readiness.stop()
    monitor.stop()
    for (const door of doors) door.stopAccepting()
    await dispatch.drain(configuration.shutdownGraceMs)
    access.stop()
    secrets.stop()
    audit?.flush()
  } finally {
    for (const door of doors) door.stopAccepting()
    // The calls are over; a second is plenty for their last bytes to leave.
    await Promise.all(doors.map((door) => door.closed(1000)))
    await store.close()
  }
}

function doorError(flag: string, address: Address, error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const place = formatAddress(address)
  const advice: Record<string, string> = {
    EADDRINUSE: `${flag}: ${place} is taken by another process: stop that, or choose another address (port 0 picks a free one)`,
    EACCES: `${flag}: this user may not listen on ${place}: choose a port from 1024 on`,
    EADDRNOTAVAIL: `${flag}: this machine has no address ${address.host}`,
    ENOTFOUND: `${flag}: ${address.host} is not known to this machine`,
  }
  if (code === "") return error
  return new StartError(advice[code] ?? `${flag}: cannot listen on ${place} (${code})`, { cause: error })
}
