import { audit } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { plain } from "../text.ts"

/**
 * What was done about a user, the newest first, as far as the service keeps the audit in its database. `changes` counts what was done
 * on this page, after which the list is read again.
 */
export function Audit({ userId, changes }: { userId: string; changes: number }) {
  const list = useLoaded(
    (signal) => audit.listAuditEntries({ pageSize: 50, filter: { case: "userId", value: userId } }, { signal }),
    [userId, changes],
  )
  const found = list.answer?.entries ?? []
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">What happened</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && (
        <Nothing>No entries. The service keeps them if it runs with --audit-store=database.</Nothing>
      )}
      <ol class="events">
        {found.map((entry) => (
          <li key={entry.requestId}>
            <Time at={entry.createTime} /> <b>{plain(entry.method.split("/").at(-1) ?? "")}</b>{" "}
            <span class="muted">
              {entry.code === "OK" ? "" : `${plain(entry.reason || entry.code)} `}
              {entry.keyId === undefined ? "" : `by key ${plain(entry.keyId)}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
