import type { AuditEntrySchema, ListAuditEntriesRequest } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { shownSubject } from "../../auth/subject.js"
import type * as domain from "../../store/types.js"
import { toDate, type Whole, type WholeMessage } from "./values.js"

export function toAuditFilter({ filter, since, before }: ListAuditEntriesRequest): Whole<domain.AuditFilter> {
  return {
    subject: filter.case === "userId" ? shownSubject(filter.value) : undefined,
    keyId: filter.case === "keyId" ? filter.value : undefined,
    method: filter.case === "method" ? filter.value : undefined,
    since: since && toDate(since, "since"),
    before: before && toDate(before, "before"),
  }
}

export function fromAuditEntry(entry: domain.AuditEntry): WholeMessage<typeof AuditEntrySchema> {
  return {
    createTime: timestampFromDate(entry.created),
    method: entry.method,
    keyId: entry.keyId,
    keyName: entry.keyName,
    userId: entry.subject,
    code: entry.code,
    reason: entry.reason ?? "",
    requestId: entry.requestId ?? "",
    traceId: entry.traceId,
    fields: entry.fields,
    count: BigInt(entry.count ?? 0),
  }
}
