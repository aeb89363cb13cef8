import type { Transport } from "@connectrpc/connect"
import { missingOption } from "../error.js"

/** A transport where an option is missing: every call fails, and says which. */
export function transportWithout(option: string): Transport {
  const fail = () => Promise.reject(missingOption(option))
  return { unary: fail, stream: fail }
}
