import { randomUUID } from "node:crypto"
import type { Logger } from "pino"
import type { Door, DoorOptions } from "../doors/door.js"
import { openGrpcDoor } from "../doors/grpc.js"
import { openHttpDoor } from "../doors/http.js"
import { type Address, formatAddress } from "../doors/listen.js"
import { monitorReadiness } from "../readiness.js"
import { createService } from "../service.js"
import type { Configuration } from "./configuration.js"
import { openMigratedStore } from "./database.js"
import { createLog } from "./log.js"
import { devSecret } from "./secret.js"
import { StartError } from "./start-error.js"

/**
 * Serves until `stopped` resolves, then lets what is under way finish, within the grace. Prints one line for each door
 * that listens. Throws StartError when something outside is in the way.
 */
export async function serve(
  configuration: Configuration,
  io: { print: (text: string) => void; stopped: Promise<string> },
): Promise<void> {
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const store = await openMigratedStore(configuration, log)
  const doors: Door[] = []
  try {
    const readiness = await monitorReadiness({ store, log })
    const dispatch = createService({
      store,
      readiness,
      log,
      newId: randomUUID,
      clock: () => performance.now(),
      reflection: configuration.reflection,
      secrets: configuration.secrets.length > 0 ? configuration.secrets : [devSecret()],
      secureCookie: configuration.secureCookie,
      maxDeadlineMs: configuration.maxDeadlineMs,
      maxMessageBytes: configuration.maxMessageBytes,
    })
    const { maxMessageBytes } = configuration
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
      return formatAddress(door.address)
    }
    const grpc = await open("--grpc-addr", configuration.grpcAddr, openGrpcDoor)
    const http = await open("--http-addr", configuration.httpAddr, (options) => openHttpDoor({ ...options, readiness }))
    warnOfOpenDoors(doors, log)
    io.print(
      (grpc === undefined ? "" : `authwire: grpc door listening on ${grpc}\n`) +
        (http === undefined ? "" : `authwire: http door listening on http://${http}\n`) +
        (configuration.dev ? whatToTry(grpc, http) : ""),
    )

    const signal = await io.stopped
    log.info({ signal, grace_ms: configuration.shutdownGraceMs }, "stopping: finishing the calls under way")
    readiness.stop()
    for (const door of doors) door.stopAccepting()
    await dispatch.drain(configuration.shutdownGraceMs)
  } finally {
    for (const door of doors) door.stopAccepting()
    // The calls are over; a second is plenty for their last bytes to leave.
    await Promise.all(doors.map((door) => door.closed(1000)))
    await store.close()
  }
  log.info("stopped")
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

function warnOfOpenDoors(doors: readonly Door[], log: Logger): void {
  for (const { address } of doors) {
    if (/^(127\.|localhost$|::1$)/.test(address.host)) continue
    log.warn(
      { address: formatAddress(address) },
      "this door has no TLS and asks nobody for a key: keep it inside a trusted network",
    )
  }
}

function whatToTry(grpc: string | undefined, http: string | undefined): string {
  const lines = ["", "Try it, in another terminal:"]
  if (grpc !== undefined) {
    lines.push(
      `  grpcurl -plaintext ${grpc} list`,
      `  grpcurl -plaintext ${grpc} describe authwire.v1.UserService`,
      `  grpcurl -plaintext -d '{"email": "ada@example.com", "name": "Ada"}' ${grpc} authwire.v1.UserService/CreateUser`,
    )
  }
  if (http !== undefined) {
    lines.push(
      `  curl -H 'content-type: application/json' -d '{"email": "ada@example.com"}' http://${http}/authwire.v1.UserService/GetUserByEmail`,
      `  curl http://${http}/readyz`,
    )
  }
  lines.push(
    "",
    `In an Auth.js application:  adapter: AuthwireAdapter({ url: "http://${grpc ?? http}" })`,
    "Ctrl-C stops it.",
    "",
    "",
  )
  return lines.join("\n")
}
