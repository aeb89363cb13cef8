import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePort } from "../machine/free-port.js"
import { hasPrinted, outputOf } from "../processes/output.js"
import { type Example, mailsAt } from "./example.js"

/** How the application is run. `standalone` and `start` require `buildNextExample` first. */
export type NextMode = "dev" | "start" | "standalone"

const folder = fileURLToPath(new URL("../../../examples/nextjs", import.meta.url))

/** The script of package.json that starts each mode. */
const scripts = { dev: "dev", start: "start", standalone: "start:standalone" } as const

/** Inherits no other variables: AUTH_URL or AUTH_SECRET would change what Auth.js does, NODE_ENV what Next.js does. */
const environment = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  CI: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  npm_config_update_notifier: "false",
}

/**
 * Builds examples/nextjs for `start` and `standalone`, with an empty environment. Rejects with the output if it fails.
 */
export async function buildNextExample(): Promise<void> {
  await promisify(execFile)(process.execPath, ["scripts/build-standalone.js"], { cwd: folder, env: environment })
}

/**
 * Returns a function that starts examples/nextjs with its OIDC provider and its mailbox, on free ports, with an
 * Authwire.
 */
export function nextExample(mode: NextMode) {
  return async (authwireUrl: string, more: Record<string, string> = {}): Promise<Example> => {
    const port = await freePort()
    const ports = { PORT: String(port), OIDC_PORT: "0", SMTP_PORT: "0", MAILBOX_PORT: "0" }
    const child: ChildProcess = spawn("npm", ["run", scripts[mode]], {
      cwd: folder,
      env: { ...environment, ...ports, ...more, AUTHWIRE_URL: authwireUrl },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const output = outputOf(child)
    const closed = once(child, "close")
    const isReady = await hasPrinted(child, output, /Ready in/)
    const issuer = /^oidc: listening on (\S+)$/m.exec(output.both)?.[1]
    const mailboxUrl = /^mailbox: .* mails at (\S+)$/m.exec(output.both)?.[1]
    if (!isReady || !issuer || !mailboxUrl) throw new Error(`next ${mode} did not start:\n${output.both}`)
    return {
      appUrl: `http://localhost:${port}`,
      issuer,
      output: () => output.both,
      mails: () => mailsAt(mailboxUrl),
      async stop() {
        child.kill("SIGTERM")
        // Waits until the last of its processes has ended, because all of them write into the same pipes.
        await closed
      },
    }
  }
}
