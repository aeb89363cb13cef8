import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { hasTool } from "./tools.ts"

// Loaded by jest and, for these two, by Node as it is.

const installed = fileURLToPath(new URL("../../../build/gateways/bin/envoy", import.meta.url))

/** The Envoy that tests start: that of scripts/gateways/install, else one on the path; undefined where there is none. */
export function findEnvoy(): string | undefined {
  if (existsSync(installed)) return installed
  return hasTool("envoy") ? "envoy" : undefined
}

/** Whether nginx is there. Debian has it in /usr/sbin, which is not on everybody's path. */
export function findNginx(): string | undefined {
  if (hasTool("nginx")) return "nginx"
  return existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : undefined
}
