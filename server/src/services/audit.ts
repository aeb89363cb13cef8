import type { AuditService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { AuditStore } from "../store/store.js"
import { fromAuditEntry, toAuditFilter } from "./wire/audit.js"
import { toPage } from "./wire/values.js"

/** Creates the service for the audit entries of the store. */
export function auditService({ audit }: { audit: AuditStore }): Implementation<typeof AuditService> {
  return {
    async listAuditEntries(request, caller) {
      const { items, nextToken } = await audit.list(caller, toAuditFilter(request), toPage(request))
      return { entries: items.map(fromAuditEntry), nextPageToken: nextToken ?? "" }
    },
  }
}
