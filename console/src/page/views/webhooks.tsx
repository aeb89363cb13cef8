import type { Webhook } from "@authwire/proto"
import { useContext, useState } from "preact/hooks"
import { webhooks } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { Access, useCan } from "../permissions.ts"
import { plain, shortened } from "../text.ts"
import { kindName } from "./live.tsx"
import { WebhookDialog } from "./webhook-dialog.tsx"
import { WebhookState } from "./webhook-state.tsx"

const columns: Column<Webhook>[] = [
  {
    name: "Webhook",
    class: "cut",
    cell: ({ id, name }) => <a href={`/webhooks/${encodeURIComponent(id)}`}>{plain(shortened(name))}</a>,
  },
  { name: "Address", class: "cut", cell: ({ url }) => plain(url) },
  { name: "Events", cell: ({ kinds }) => kinds.map(kindName).join(", ") || "all" },
  { name: "State", cell: (webhook) => <WebhookState of={webhook} /> },
  { name: "Created", cell: ({ createTime }) => <Time at={createTime} /> },
]

/** The webhooks of the tenant. */
export function Webhooks() {
  const can = useCan()
  const { tenant } = useContext(Access)
  const [isCreating, setCreating] = useState(false)
  const pages = usePages()
  const page = useLoaded((signal) => webhooks.listWebhooks({ pageToken: pages.token }, { signal }), [pages.token])
  const found = page.answer?.webhooks ?? []
  return (
    <>
      <h1 tabIndex={-1}>Webhooks</h1>
      <p>
        Other systems that the service tells of events of the tenant <b>{plain(tenant)}</b>.
      </p>
      {can("webhooks:write") && (
        <p class="buttons">
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create a webhook
          </button>
        </p>
      )}
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p role="status">Loading…</p>}
      {page.answer && found.length === 0 && <Nothing>The tenant has no webhook.</Nothing>}
      {found.length > 0 && (
        <Table
          columns={columns}
          rows={found}
          keyOf={({ id }) => id}
          isMuted={({ disableTime }) => disableTime !== undefined}
          isBusy={page.isLoading}
        />
      )}
      <Pages pages={pages} next={page.answer?.nextPageToken} />
      {isCreating && <WebhookDialog close={() => setCreating(false)} onDone={page.reload} />}
    </>
  )
}
