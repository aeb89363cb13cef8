import type { Tenant } from "@authwire/proto"
import { useContext, useState } from "preact/hooks"
import { tenants } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { Access, useCan } from "../permissions.ts"
import { plain } from "../text.ts"
import { NewTenant } from "./new-tenant.tsx"

const columns: readonly Column<Tenant>[] = [
  { name: "Tenant", class: "cut", cell: ({ name }) => plain(name) },
  { name: "Created", cell: ({ createTime }) => <Time at={createTime} /> },
]

/** The tenants of the service. */
export function Tenants() {
  const can = useCan()
  const { tenant: own } = useContext(Access)
  const [isCreating, setCreating] = useState(false)
  const pages = usePages()
  const page = useLoaded(
    (signal) => tenants.listTenants({ pageSize: 200, pageToken: pages.token }, { signal }),
    [pages.token],
  )
  const found = page.answer?.tenants ?? []
  return (
    <>
      <h1 tabIndex={-1}>Tenants</h1>
      <p>
        This console shows the data of <b>{plain(own)}</b>. For another tenant, start a console with a key of that
        tenant.
      </p>
      {can("tenants:write") && (
        <p class="buttons">
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create a tenant
          </button>
        </p>
      )}
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p role="status">Loading…</p>}
      {page.answer && found.length === 0 && <Nothing>There are no more tenants.</Nothing>}
      {found.length > 0 && <Table columns={columns} rows={found} keyOf={({ name }) => name} isBusy={page.isLoading} />}
      <Pages pages={pages} next={page.answer?.nextPageToken} />
      {isCreating && <NewTenant close={() => setCreating(false)} onDone={page.reload} />}
    </>
  )
}
