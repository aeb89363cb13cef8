import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Mail } from "../../../examples/express/src/mail.js"
import { hasPrinted, outputOf } from "../processes/output.js"

/** The running application of examples/express, with its OIDC provider and its mailbox. */
export interface Example {
  readonly appUrl: string
  readonly issuer: string
  /** The e-mails that the SMTP server has received, the newest first. */
  mails(): Promise<Mail[]>
  /** All output of the three processes so far. */
  output(): string
  /** Stops the application with a signal, by default SIGTERM. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

const program = fileURLToPath(new URL("../../../examples/express/dist/main.js", import.meta.url))

/** Starts the example on free ports with the Authwire at that URL. `environment` overrides its own variables. */
export async function startExample(authwireUrl: string, environment: Record<string, string> = {}): Promise<Example> {
  const ports = { PORT: "0", OIDC_PORT: "0", SMTP_PORT: "0", MAILBOX_PORT: "0" }
  const child: ChildProcess = spawn(process.execPath, [program], {
    // Inherits nothing from the caller's environment, because AUTH_URL or AUTH_SECRET would change what Auth.js does.
    env: { PATH: process.env.PATH, ...ports, ...environment, AUTHWIRE_URL: authwireUrl },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const output = outputOf(child)
  const closed = once(child, "close")
  const found = (pattern: RegExp) => pattern.exec(output.both)?.[1]
  await hasPrinted(child, output, /^app: .*\n/m)
  const appUrl = found(/^app: listening on (\S+)$/m)
  const issuer = found(/^oidc: listening on (\S+)$/m)
  const mailboxUrl = found(/^mailbox: .* mails at (\S+)$/m)
  if (!appUrl || !issuer || !mailboxUrl) throw new Error(`the example did not start:\n${output.both}`)
  return {
    appUrl,
    issuer,
    output: () => output.both,
    mails: () => mailsAt(mailboxUrl),
    async stop(signal = "SIGTERM") {
      child.kill(signal)
      await closed
    },
  }
}

/** Returns the e-mails of a mailbox, the newest first. */
export const mailsAt = async (mailboxUrl: string) => (await (await fetch(`${mailboxUrl}.json`)).json()) as Mail[]
