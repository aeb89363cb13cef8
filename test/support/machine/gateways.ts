import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { hasTool } from "./tools.ts"

// Loaded by jest and, for these two functions, by Node directly.

const installed = fileURLToPath(new URL("../../../build/gateways/bin/envoy", import.meta.url))

/**
 * Returns the Envoy that tests start: that of scripts/gateways/install, otherwise that of the PATH, otherwise
 * undefined.
 */
export function findEnvoy(): string | undefined {
  if (existsSync(installed)) return installed
  return hasTool("envoy") ? "envoy" : undefined
}

/** Returns nginx, if it is installed. Debian has it in /usr/sbin, which is not on every user's PATH. */
export function findNginx(): string | undefined {
  if (hasTool("nginx")) return "nginx"
  return existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : undefined
}
