import { type Address, formatAddress } from "../transport/address.js"
import { StartError } from "./start-error.js"

/** Converts the error of a listener that cannot listen into a StartError with advice. */
export function listenError(flag: string, address: Address, error: unknown): unknown {
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
