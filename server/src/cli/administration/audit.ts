import { type AuditEntry, AuditEntrySchema, type ListAuditEntriesRequest } from "@authwire/proto"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ConfigurationError } from "../../errors/configuration-error.js"
import type { Work } from "../commands/output.js"
import { printList, timeOf } from "./listing.js"
import { withService } from "./service.js"

const columns = {
  time: ({ createTime }: AuditEntry) => timeOf(createTime),
  key: ({ keyId }: AuditEntry) => keyId ?? "",
  "key name": ({ keyName }: AuditEntry) => keyName ?? "",
  method: ({ method }: AuditEntry) => method.replace(/^authwire\.v1\./, ""),
  user: ({ userId }: AuditEntry) => userId ?? "",
  result: ({ code, reason, count }: AuditEntry) => `${reason || code}${count > 0 ? ` (${count} calls)` : ""}`,
  more: ({ fields = {} }: AuditEntry) =>
    Object.entries(fields)
      .map(([name, value]) => `${name}=${value}`)
      .join(" "),
}

/** `authwire audit`. Throws ConfigurationError and StartError. */
export const listAudit: Work<"audit"> = async (configuration, output) => {
  const { auditUser, key, method, within } = configuration
  const filters = [
    auditUser === undefined ? [] : [{ case: "userId" as const, value: auditUser }],
    key === undefined ? [] : [{ case: "keyId" as const, value: key }],
    method === undefined ? [] : [{ case: "method" as const, value: nameOf(method) }],
  ].flat()
  if (filters.length > 1) throw new ConfigurationError("--user, --key, --method: only one of them may be given")
  const filter: ListAuditEntriesRequest["filter"] = filters[0] ?? { case: undefined }
  const since = within === 0 ? undefined : timestampFromMs(Date.now() - within)
  await withService(configuration, ({ audit }) =>
    printList(configuration, output, {
      schema: AuditEntrySchema,
      columns,
      async read(page) {
        const { entries: items, nextPageToken } = await audit.listAuditEntries({
          ...page,
          filter,
          ...(since !== undefined && { since }),
        })
        return { items, nextPageToken }
      },
    }),
  )
}

/** Returns the full name of a method, of which the package may be omitted: `UserService/DeleteUser`, also with a dot. */
function nameOf(method: string): string {
  const name = method.replace(/^(\w+Service)\.(\w+)$/, "$1/$2")
  return /^\w+Service\//.test(name) ? `authwire.v1.${name}` : name
}
