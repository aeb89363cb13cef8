import { openSync } from "node:fs"
import { type Logger, pino } from "pino"
import { type Audit, audit } from "../access/audit.js"
import type { Configuration } from "./configuration.js"
import { StartError } from "./start-error.js"

/** What is kept of an audit log that cannot be written, in bytes. */
const keptBytes = 1024 * 1024

/**
 * Opens the audit log; undefined where there is none. Each line is written at once, whole and at the end of the file,
 * whoever else writes there. Throws StartError when the file cannot be opened.
 */
export function openAudit({ auditLog }: Configuration, log: Logger): Audit | undefined {
  if (auditLog === "off") return undefined
  const { file } = auditLog
  const destination = pino.destination({ fd: file === undefined ? 2 : open(file), sync: true, maxLength: keptBytes })
  destination.on("error", (error: unknown) => log.error({ err: error }, "the audit log cannot be written"))
  destination.on("drop", () => log.error("the audit log cannot be written: a line is lost"))
  return audit({ write: (line) => destination.write(line), now: Date.now })
}

function open(file: string): number {
  try {
    return openSync(file, "a", 0o600)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
    throw new StartError(`--audit-log: cannot open ${file} (${code})`, { cause: error })
  }
}
