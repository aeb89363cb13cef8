import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { findProgram } from "./tools.ts"

// Loaded by jest and by Node directly.

const installed = fileURLToPath(new URL("../../../build/gateways/bin/envoy", import.meta.url))

/**
 * Returns the Envoy that tests start: that of scripts/gateways/install, otherwise that of the PATH, otherwise
 * undefined.
 */
export function findEnvoy(): string | undefined {
  return existsSync(installed) ? installed : findProgram("envoy")
}
