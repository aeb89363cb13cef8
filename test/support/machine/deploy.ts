import { execFile, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

// Loaded by jest and, for `hasDeployTools`, by Node directly, so it imports no other file of this repository.

export const root = fileURLToPath(new URL("../../..", import.meta.url))

const programs = `${root}/build/deploy/bin`

/** Whether the tools that check deploy/ are installed. scripts/deploy/install installs them. */
export function hasDeployTools(): boolean {
  const needed = [`${programs}/helm`, `${programs}/kubeconform`, `${programs}/compose-check`]
  return [...needed, `${root}/build/deploy/schemas`, `${root}/scripts/deploy/node_modules`].every(existsSync)
}

/** Whether the tools that make the artefacts of a release are installed: these, and those of `make release-install`. */
export function hasReleaseTools(): boolean {
  return hasDeployTools() && existsSync(`${root}/scripts/release/node_modules/@sigstore/sign`)
}

export function hasSystemdAnalyze(): boolean {
  return spawnSync("systemd-analyze", ["--version"]).status === 0
}

/**
 * Runs a program of build/deploy/bin, or of the PATH, until it exits. `output` has standard output and standard error.
 */
export async function check(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string | undefined>; input?: string } = {},
): Promise<{ code: number; output: string }> {
  const path = existsSync(`${programs}/${program}`) ? `${programs}/${program}` : program
  const running = promisify(execFile)(path, args, {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: "", ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  })
  // The program may exit without having read its input.
  running.child.stdin?.on("error", () => {})
  running.child.stdin?.end(options.input ?? "")
  try {
    const { stdout, stderr } = await running
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
    if (typeof code !== "number") throw error
    return { code, output: stdout + stderr }
  }
}
