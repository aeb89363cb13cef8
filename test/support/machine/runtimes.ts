import { execFile } from "node:child_process"
import { existsSync, globSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

// Loaded by jest and, for `hasRuntimes`, by Node directly, so it imports no other file of this repository.

/** A runtime of JavaScript, and the client that is tested in it. */
export interface Runtime {
  readonly name: string
  /**
   * `grpc`: `@authwire/client`. `fetch`: `@authwire/client/edge`, or what `@authwire/client` resolves to in the
   * runtime.
   */
  readonly carrier: "grpc" | "fetch"
  /** The command that runs test/runtimes/programs/suite.ts in it. */
  readonly command: readonly string[]
}

const folder = fileURLToPath(new URL("../../runtimes", import.meta.url))

/** Whether the runtimes are installed. Their packages are not among those of the workspaces. */
export function hasRuntimes(): boolean {
  return existsSync(join(folder, "node_modules/.package-lock.json"))
}

/** Returns all runtimes. Node 24 is the one that runs the tests. */
export function runtimes(): Runtime[] {
  const { platform, arch } = process
  const program = join(folder, "programs/process.ts")
  const programs = {
    "Node 22": [installed(`node-22-${platform}-${arch}/bin/node`), program],
    "Node 24": [process.execPath, program],
    Bun: [installed(`@oven/bun-${platform}-${arch.replace("arm64", "aarch64")}/bin/bun`), "--no-install", program],
    Deno: [installed(`@deno/${platform}-${arch}*/deno`), "run", "--allow-all", "--no-prompt", "--no-lock", program],
  }
  const hosts = {
    workerd: [process.execPath, join(folder, "hosts/workerd.js")],
    "edge-runtime": [process.execPath, join(folder, "hosts/edge-runtime.js")],
  }
  return [
    ...Object.entries(programs).flatMap(([name, command]) => [
      { name, carrier: "grpc" as const, command },
      { name, carrier: "fetch" as const, command },
    ]),
    ...Object.entries(hosts).map(([name, command]) => ({ name, carrier: "fetch" as const, command })),
  ]
}

function installed(pattern: string): string {
  const [found] = globSync(join(folder, "node_modules", pattern))
  if (found === undefined) throw new Error(`not installed: ${pattern}`)
  return found
}

const environment = {
  PATH: process.env.PATH,
  TZ: process.env.TZ,
  // Disables update checks and telemetry.
  DENO_NO_UPDATE_CHECK: "1",
  DO_NOT_TRACK: "1",
}

/** Runs a program of test/runtimes until it exits, and parses its output as JSON. */
export async function runJson([program = "", ...args]: readonly string[], home: string): Promise<unknown> {
  const env = { ...environment, HOME: home, DENO_DIR: join(home, "deno") }
  const { stdout } = await promisify(execFile)(program, args, { env, timeout: 50_000, maxBuffer: 2 ** 26 })
  return JSON.parse(stdout)
}

/** The size of the bundle of a module that imports the client, in bytes, in total and by file. */
export interface BundleSize {
  readonly minified: number
  readonly gzipped: number
  readonly sizes: Readonly<Record<string, number>>
}

export async function bundleSize(source: string, home: string): Promise<BundleSize> {
  return (await runJson([process.execPath, join(folder, "bundle-size.js"), source], home)) as BundleSize
}
