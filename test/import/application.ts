import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { folder } from "./fixtures.js"

const provider = fileURLToPath(new URL("../../examples/express/dist/oidc.js", import.meta.url))

/** A running program with a listener. */
export interface Started {
  /** The address that the program has printed. */
  readonly address: string
  stop(): Promise<void>
}

/** Starts the OpenID Connect provider of examples/express. */
export function startProvider(clientSecret: string): Promise<Started> {
  return start([provider], /^oidc: listening on (\S+)$/, { OIDC_PORT: "0", OIDC_CLIENT_SECRET: clientSecret })
}

/** Starts the application of fixtures/app.js, on port 0 or on its previous port. */
export function startApplication(
  args: readonly string[],
  environment: { OIDC_CLIENT_SECRET: string; AUTH_SECRET: string },
): Promise<Started> {
  return start([`${folder}/app.js`, ...args], /^listening on (\d+)$/, environment)
}

async function start(args: string[], pattern: RegExp, environment: Record<string, string>): Promise<Started> {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const closed = once(child, "close")
  const lines: string[] = []
  createInterface({ input: child.stderr! }).on("line", (line) => lines.push(line))
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      lines.push(line)
      const [, found] = pattern.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    closed.then(() => reject(new Error(`${args[0]} ended:\n${lines.join("\n")}`)))
  })
  return {
    address,
    async stop() {
      child.kill("SIGTERM")
      await closed
    },
  }
}
