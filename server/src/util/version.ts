import { createRequire } from "node:module"

/** Returns the version of this package. */
export function ownVersion(): string {
  return createRequire(import.meta.url)("@authwire/server/package.json").version
}
