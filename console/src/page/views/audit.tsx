import type { AuditEntry } from "@authwire/proto"
import { useLocation } from "preact-iso"
import { audit } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { useNames } from "../names.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Moment } from "../parts/time.tsx"
import { UserLink } from "../parts/user-link.tsx"
import { number, plain } from "../text.ts"
import { type AuditFilter, auditRequest } from "./audit-filter.ts"
import { AuditFilterForm } from "./audit-filter-form.tsx"

/** What was done in the tenant, as far as the address does not choose entries, the newest first. */
export function Audit() {
  const { query, route } = useLocation()
  const address = JSON.stringify(query)
  const choose = (filter: AuditFilter) => {
    const text = new URLSearchParams({ ...filter }).toString()
    route(text === "" ? "/audit" : `/audit?${text}`)
  }
  return (
    <>
      <h1 tabIndex={-1}>Audit</h1>
      <AuditFilterForm key={address} filter={query} choose={choose} />
      <Entries filter={query} />
    </>
  )
}

/** What was done about a user. `changes` counts what was done on this page, after which the list is read again. */
export function AuditOfUser({ userId, changes }: { userId: string; changes: number }) {
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">What happened</h2>
      <Entries filter={{ user: userId }} changes={changes} isOfUser />
    </section>
  )
}

/** The entries, as far as the service keeps the audit in its database. */
function Entries(props: { filter: AuditFilter; changes?: number; isOfUser?: boolean }) {
  const { filter, changes = 0, isOfUser = false } = props
  const wanted = JSON.stringify(filter)
  const pages = usePages(wanted)
  const list = useLoaded(
    (signal) => audit.listAuditEntries({ ...auditRequest(filter), pageSize: 50, pageToken: pages.token }, { signal }),
    [wanted, pages.token, changes],
  )
  const found = list.answer?.entries ?? []
  const nameOf = useNames(isOfUser ? [] : found.flatMap(({ userId = "" }) => (isId(userId) ? userId : [])))
  const ofUser: Column<AuditEntry> = {
    name: "User",
    cell: ({ userId }) => userId !== undefined && <UserLink id={userId} name={nameOf(userId)} />,
  }
  const isAll = Object.keys(auditRequest(filter)).length === 0
  return (
    <>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && (
        <Nothing>
          {isAll ? "No entries." : "No entry matches."} The service keeps them if it runs with --audit-store=database.
        </Nothing>
      )}
      {found.length > 0 && (
        <Table
          columns={[...columns.slice(0, 3), ...(isOfUser ? [] : [ofUser]), ...columns.slice(3)]}
          rows={found}
          keyOf={(_, index) => index}
          isBusy={list.isLoading}
        />
      )}
      <Pages pages={pages} next={list.answer?.nextPageToken} />
    </>
  )
}

const isId = (userId: string) => userId !== "" && !userId.startsWith("sha256:")

const columns: readonly Column<AuditEntry>[] = [
  { name: "Time", cell: ({ createTime }) => <Moment at={createTime} /> },
  { name: "Method", cell: ({ method }) => <span title={plain(method)}>{plain(method.split("/").at(-1) ?? "")}</span> },
  {
    name: "Result",
    cell: ({ code, reason, count }) => (
      <>
        {code === "OK" ? "OK" : <span class="away">{plain(reason || code)}</span>}
        {count > 0n && <div class="away">{number(count)} more</div>}
      </>
    ),
  },
  {
    name: "Key",
    class: "key",
    cell: ({ keyId, keyName }) =>
      keyId !== undefined && (
        <>
          {keyName !== undefined && <div>{plain(keyName)}</div>}
          <a href={`/audit?key=${encodeURIComponent(keyId)}`} title="What was done with it">
            <code>{plain(keyId)}</code>
          </a>
        </>
      ),
  },
  {
    name: "Details",
    class: "muted",
    cell: ({ fields }) =>
      Object.entries(fields ?? {})
        .map(([name, value]) => `${name} ${plain(String(value))}`)
        .join(", "),
  },
]
