import { constants, openSync } from "node:fs"
import type { Logger } from "pino"
import { orStartError } from "../errors/start-error.js"
import { type Audit, type AuditEntryStore, audit } from "../rpc/interceptors/audit.js"
import { boundedLines } from "./bounded-lines.js"
import { standardError } from "./logger.js"

export interface AuditLogOptions {
  /** The destination: a file, standard error if no file is given, or `off`. */
  auditLog: "off" | { file: string | undefined }
  /** What happens while it cannot be written: lines are lost (`drop`), or writes are rejected (`reject`). */
  auditLogFailure: "drop" | "reject"
}

/**
 * Opens the audit log, and passes entries to `store` if it is given; returns undefined if both are off. Each line is written whole at the end of the file, even if other
 * processes write to it. Throws StartError if the file cannot be opened.
 */
export function openAudit(
  { auditLog, auditLogFailure }: AuditLogOptions,
  log: Logger,
  store?: AuditEntryStore,
): Audit | undefined {
  if (auditLog === "off") return store === undefined ? undefined : audit({ write() {}, store, now: Date.now })
  const { file } = auditLog
  const lines = boundedLines(file === undefined ? standardError() : open(file), {
    onLost: (count) => {
      record.lost(count)
      log.error({ lines: count }, "lines of the audit log are lost: it could not be written")
    },
    onFailure: (error) => {
      if (error === undefined) log.info("the audit log can be written again")
      else log.error({ err: error }, "the audit log cannot be written")
    },
  })
  const common = { write: lines.write, store, now: Date.now }
  const record = audit(
    auditLogFailure === "drop" ? common : { ...common, writeOfWrite: lines.keep, mayWrite: () => !lines.isBlocked },
  )
  return record
}

// Without O_NONBLOCK, opening or writing a pipe would block the service until a process reads it.
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK

function open(file: string): number {
  return orStartError(`--audit-log: cannot open ${file}`, () => openSync(file, flags, 0o600))
}
