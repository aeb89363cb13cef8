import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

// Loaded by jest and, for `hasTracedApplication`, by Node directly, so it imports no other file of this repository.

const folder = fileURLToPath(new URL("../../tracing/application", import.meta.url))

/** Whether the application is installed. Its packages are not among those of the workspaces. */
export function hasTracedApplication(): boolean {
  return existsSync(join(folder, "node_modules/.package-lock.json"))
}

/**
 * Runs the application with OpenTelemetry, which signs a user in. Resolves to its trace id after its spans were sent.
 */
export async function tracedSignIn(environment: Record<string, string | undefined>): Promise<string> {
  const env = { PATH: process.env.PATH, ...environment }
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "sign-in.js")], { env, timeout: 50_000 })
  return (JSON.parse(stdout) as { traceId: string }).traceId
}
