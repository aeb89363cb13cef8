import { StartError } from "../errors/start-error.js"
import { type Address, formatAddress } from "../util/address.js"

/** Converts the error of a listener that cannot listen into a StartError with advice. */
export function listenError(flag: string, address: Address, error: unknown, reusePort = false): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const text = formatAddress(address)
  const other = reusePort
    ? "is in use by a process that has no --reuse-port or belongs to another user: stop it, or choose another address"
    : "is in use by another process: stop it, or choose another address (port 0 picks a free one)"
  const advice: Record<string, string> = {
    EADDRINUSE: `${flag}: ${text} ${other}`,
    ENOTSUP: `${flag}: this system cannot share ports: --reuse-port needs Linux`,
    EACCES: `${flag}: no permission to listen on ${text}: choose a port of 1024 or higher`,
    EADDRNOTAVAIL: `${flag}: this machine has no address ${address.host}`,
    ENOTFOUND: `${flag}: the host name ${address.host} cannot be resolved`,
  }
  if (code === "") return error
  return new StartError(advice[code] ?? `${flag}: cannot listen on ${text} (${code})`, { cause: error })
}
