import type { Logger } from "pino"
import { type Address, formatAddress, isLoopback } from "../util/address.js"

/** The addresses of the listeners; undefined for a closed listener. */
export interface Addresses {
  grpc?: Address | undefined
  http?: Address | undefined
  /** The address of `/metrics`. */
  metrics?: Address | undefined
}

interface AnnounceOptions {
  print: (text: string) => void
  log: Logger
  dev: boolean
  /** Whether the listeners use TLS. */
  tls: boolean
}

/** Prints once that the service is ready: one line for each listener, and with `--dev` example commands. */
export function announce(addresses: Addresses, options: AnnounceOptions) {
  const { print, log, dev, tls } = options
  const [grpc, http] = [addresses.grpc, addresses.http].map((address) => address && formatAddress(address))
  for (const address of [addresses.grpc, addresses.http]) if (address !== undefined) warnIfOpen(address, tls, log)
  if (addresses.metrics !== undefined) warnIfOpen(addresses.metrics, false, log)
  print(
    (grpc === undefined ? "" : `authwire: grpc listener at ${grpc}\n`) +
      (http === undefined ? "" : `authwire: http listener at ${tls ? "https" : "http"}://${http}\n`) +
      (addresses.metrics === undefined
        ? ""
        : `authwire: metrics at http://${formatAddress(addresses.metrics)}/metrics\n`) +
      (dev && !tls ? examples(grpc, http) : ""),
  )
}

function warnIfOpen(address: Address, tls: boolean, log: Logger): void {
  if (isLoopback(address) || tls) return
  log.warn(
    { address: formatAddress(address) },
    "this listener has no TLS: keep it inside a trusted network, behind a proxy that terminates TLS",
  )
}

function examples(grpc: string | undefined, http: string | undefined): string {
  const lines = ["", "Try it, in another terminal:"]
  if (http !== undefined) {
    const users = `http://${http}/authwire.v1.UserService`
    lines.push(
      `  curl -H 'content-type: application/json' -d '{"email": "ada@example.com", "name": "Ada"}' ${users}/CreateUser`,
      `  curl -H 'content-type: application/json' -d '{"email": "ada@example.com"}' ${users}/GetUserByEmail`,
      `  curl http://${http}/readyz`,
    )
  }
  if (grpc !== undefined) {
    lines.push(
      `  grpcurl -plaintext ${grpc} list       (https://github.com/fullstorydev/grpcurl)`,
      `  grpcurl -plaintext ${grpc} describe authwire.v1.UserService`,
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
