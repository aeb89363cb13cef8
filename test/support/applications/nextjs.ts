import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { hasPrinted, outputOf } from "../processes/output.ts"

// Loaded by jest and, for `hasNextjs`, by Node directly.

/** An application of Next.js in its own folder. */
export interface NextApp {
  /** Writes a file at a path in the application. */
  write(path: string, text: string): void
  /** Runs `next build`. Rejects with the output if it fails. */
  build(): Promise<void>
  /** Runs `next start` on a free port, with more variables. */
  serve(more?: Record<string, string>): Promise<NextServer>
  remove(): void
}

export interface NextServer {
  readonly url: string
  output(): string
  stop(): Promise<void>
}

const tests = fileURLToPath(new URL("../../", import.meta.url))
const programIn = (fixture: string) => join(tests, fixture, "node_modules/next/dist/bin/next")

/** Whether the Next.js of a fixture is installed. Its packages are not among those of the workspaces. */
export function hasNextjs(fixture = "security/nextjs"): boolean {
  return existsSync(programIn(fixture))
}

/** Whether examples/nextjs is installed. It has its own lock file. */
export function hasNextExample(): boolean {
  return existsSync(join(tests, "../examples/nextjs/node_modules/next"))
}

/**
 * Copies the application of a fixture, a folder of test/. `environment` is the environment of all its commands, and
 * `names` are its files and folders.
 */
export function createNextApp(
  environment: Record<string, string>,
  fixture = "security/nextjs",
  names: readonly string[] = ["app"],
): NextApp {
  const program = programIn(fixture)
  const source = join(tests, fixture)
  const parent = join(source, "build")
  mkdirSync(parent, { recursive: true })
  // Below the fixture, so that the application finds its imports in the fixture's node_modules.
  const folder = mkdtempSync(join(parent, "app-"))
  for (const name of [...names, "next.config.js"]) cpSync(join(source, name), join(folder, name), { recursive: true })

  function next(args: string[], more: Record<string, string> = {}) {
    const child: ChildProcess = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        CI: "1",
        NEXT_TELEMETRY_DISABLED: "1",
        NEXT_IGNORE_INCORRECT_LOCKFILE: "1",
        AUTHWIRE_REPOSITORY: join(tests, ".."),
        ...environment,
        ...more,
      },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const output = outputOf(child)
    return { child, output, closed: once(child, "close") as Promise<[number | null]> }
  }

  return {
    write(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    },
    async build() {
      const { output, closed } = next(["build"])
      const [code] = await closed
      if (code !== 0) throw new Error(`next build: ${code}\n${output.both}`)
    },
    async serve(more) {
      const { child, output, closed } = next(["start", "--hostname", "127.0.0.1", "--port", "0"], more)
      const isReady = await hasPrinted(child, output, /Ready in/)
      const url = /(http:\/\/127\.0\.0\.1:[1-9]\d*)/.exec(output.both)?.[1]
      if (!isReady || url === undefined) throw new Error(`next start did not start:\n${output.both}`)
      return {
        url,
        output: () => output.both,
        async stop() {
          child.kill("SIGTERM")
          await closed
        },
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
