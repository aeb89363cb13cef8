import { constants, openSync } from "node:fs"
import type { Logger } from "pino"
import { orStartError } from "../errors/start-error.js"
import { type Audit, type AuditLines, type AuditTable, audit } from "../rpc/interceptors/audit.js"
import { printableLines } from "../util/printable.js"
import { boundedLines } from "./bounded-lines.js"
import { standardError } from "./logger.js"

export interface AuditLogOptions {
  /** The destination: a file, standard error if no file is given, or `off`. */
  auditLog: "off" | { file: string | undefined }
  /** What happens while it cannot be written: lines are lost (`drop`), or writes are rejected (`reject`). */
  auditLogFailure: "drop" | "reject"
}

/**
 * Opens the audit log, and creates the audit of it and of `table`; returns undefined if there is neither. Each line is written whole at
 * the end of the file, even if other processes write to it. Throws StartError if the file cannot be opened.
 */
export function openAudit(
  options: AuditLogOptions,
  { log, table, now }: { log: Logger; table: AuditTable | undefined; now: () => number },
): Audit | undefined {
  const lines = openLines(options, log)
  return lines === undefined && table === undefined ? undefined : audit({ lines, table, now })
}

function openLines({ auditLog, auditLogFailure }: AuditLogOptions, log: Logger): AuditLines | undefined {
  if (auditLog === "off") return undefined
  const { file } = auditLog
  const lines = boundedLines(file === undefined ? standardError() : open(file), {
    onLost: (count) => {
      lines.write(lineOf({ time: new Date(Date.now()), event: "audit-lost", lines: count }))
      log.error({ lines: count }, "lines of the audit log are lost: it could not be written")
    },
    onFailure: (error) => {
      if (error === undefined) log.info("the audit log can be written again")
      else log.error({ err: error }, "the audit log cannot be written")
    },
  })
  const rejects = auditLogFailure === "reject"
  return {
    get isBlocked() {
      return rejects && lines.isBlocked
    },
    write(entry, tenant, isWrite) {
      const { created, method, keyId, keyName, subject, fields, code, reason, requestId, traceId, count } = entry
      const who = {
        key: keyId,
        key_name: keyName,
        tenant,
        method: method === "" ? undefined : method,
        subject,
        ...fields,
      }
      const outcome = { code, reason, request_id: requestId, trace_id: traceId, count }
      const line = lineOf({ time: created, event: "audit", ...who, ...outcome })
      if (rejects && isWrite) lines.keep(line)
      else lines.write(line)
    },
  }
}

function lineOf(properties: Record<string, unknown>): string {
  return `${printableLines(JSON.stringify(properties))}\n`
}

// Without O_NONBLOCK, opening or writing a pipe would block the service until a process reads it.
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK

function open(file: string): number {
  return orStartError(`--audit-log: cannot open ${file}`, () => openSync(file, flags, 0o600))
}
