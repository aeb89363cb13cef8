import { execFile, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

// Loaded by jest and, for `hasDeployTools`, by Node as it is: so it imports no file of ours.

export const root = fileURLToPath(new URL("../../..", import.meta.url))

const programs = `${root}/build/deploy/bin`

/** Whether what checks deploy/ is installed: scripts/deploy/install does it. */
export function hasDeployTools(): boolean {
  const needed = [`${programs}/helm`, `${programs}/kubeconform`, `${programs}/compose-check`]
  return [...needed, `${root}/build/deploy/schemas`, `${root}/scripts/deploy/node_modules`].every(existsSync)
}

export function hasSystemdAnalyze(): boolean {
  return spawnSync("systemd-analyze", ["--version"]).status === 0
}

/** Runs a program of build/deploy/bin, or another one, to its end. Both outputs are in `output`. */
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
  // It may end without having read what it was given.
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
