import type { AuditEntry, ListAuditEntriesRequest } from "@authwire/proto"
import { useLocation } from "preact-iso"
import { audit } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { Time } from "../parts/time.tsx"
import { number, plain } from "../text.ts"

/** What was done in the tenant or, if the address says so, with one API key, the newest first. */
export function Audit() {
  const { key } = useLocation().query
  return (
    <>
      <h1 tabIndex={-1}>Audit</h1>
      {key !== undefined && (
        <p class="cut">
          With the key <code>{plain(key)}</code>. <a href="/audit">Show all</a>
        </p>
      )}
      <Entries key={key ?? ""} filter={key === undefined ? { case: undefined } : { case: "keyId", value: key }} />
    </>
  )
}

/** What was done about a user. `changes` counts what was done on this page, after which the list is read again. */
export function AuditOfUser({ userId, changes }: { userId: string; changes: number }) {
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">What happened</h2>
      <Entries filter={{ case: "userId", value: userId }} changes={changes} />
    </section>
  )
}

/** The entries, as far as the service keeps the audit in its database. */
function Entries({ filter, changes = 0 }: { filter: ListAuditEntriesRequest["filter"]; changes?: number }) {
  const pages = usePages()
  const list = useLoaded(
    (signal) => audit.listAuditEntries({ pageSize: 50, pageToken: pages.token, filter }, { signal }),
    [filter.value, pages.token, changes],
  )
  const found = list.answer?.entries ?? []
  return (
    <>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && (
        <Nothing>No entries. The service keeps them if it runs with --audit-store=database.</Nothing>
      )}
      <ol class="events">
        {found.map((entry, index) => (
          <Entry key={index} entry={entry} isOfUser={filter.case === "userId"} />
        ))}
      </ol>
      <Pages pages={pages} next={list.answer?.nextPageToken} />
    </>
  )
}

function Entry({ entry, isOfUser }: { entry: AuditEntry; isOfUser: boolean }) {
  const { userId, keyId } = entry
  const fields = Object.entries(entry.fields ?? {}).map(([name, value]) => `${name} ${plain(String(value))}`)
  return (
    <li>
      <Time at={entry.createTime} /> <b>{plain(entry.method.split("/").at(-1) ?? "")}</b>{" "}
      {entry.code !== "OK" && <span class="away">{plain(entry.reason || entry.code)} </span>}
      {entry.count > 0n && <span class="away">{number(entry.count)} more </span>}
      {!isOfUser && userId !== undefined && <Subject id={userId} />}{" "}
      <span class="muted">
        {keyId === undefined ? "" : `by key ${plain(keyId)} `}
        {fields.join(", ")}
      </span>
    </li>
  )
}

/** The user of an entry. An id that may be an e-mail address is there only as a hash, which names no page. */
function Subject({ id }: { id: string }) {
  return id.startsWith("sha256:") ? (
    <span>{plain(id)}</span>
  ) : (
    <a href={`/users/${encodeURIComponent(id)}`}>{plain(id)}</a>
  )
}
