import type { Transport } from "@connectrpc/connect"
import { missingOption } from "../errors/error.js"

/** Creates a transport for a client without a required option. Every call fails with an error that names the option. */
export function missingOptionTransport(option: string): Transport {
  const fail = () => Promise.reject(missingOption(option))
  return { unary: fail, stream: fail }
}
