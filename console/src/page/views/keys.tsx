import type { ApiKey } from "@authwire/proto"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { useContext, useState } from "preact/hooks"
import { apiKeys } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { type Action, Confirm } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { Access, useCan } from "../permissions.ts"
import { plain } from "../text.ts"
import { NewKey } from "./new-key.tsx"

/** The API keys of the tenant. */
export function Keys() {
  const can = useCan()
  const { id: own, tenant } = useContext(Access)
  const [action, setAction] = useState<Action>()
  const [isCreating, setCreating] = useState(false)
  const pages = usePages()
  const page = useLoaded(
    (signal) => apiKeys.listApiKeys({ pageSize: 200, pageToken: pages.token }, { signal }),
    [pages.token],
  )
  const found = page.answer?.apiKeys.toSorted((one, other) => createdMs(other) - createdMs(one)) ?? []
  const revoke = ({ id, name }: ApiKey) =>
    setAction({
      title: "Revoke this key?",
      label: "Revoke",
      isDangerous: true,
      about: (
        <p>
          Within 5 seconds the service rejects every call with the key <b>{plain(name)}</b>. This cannot be undone.
          {id === own && " It is the key of this console, which ends with it."}
        </p>
      ),
      run: async () => {
        const { apiKey } = await apiKeys.revokeApiKey({ id })
        return apiKey ? `Revoked ${plain(name)}.` : "No such key."
      },
      onDone: page.reload,
    })
  const idOf = ({ id }: ApiKey) => <code>{plain(id)}</code>
  const columns: Column<ApiKey>[] = [
    {
      name: "Key",
      class: "cut",
      cell: (key) => (
        <>
          {plain(key.name)}
          {key.id === own && <div class="muted">the key of this console</div>}
          <div>
            {can("audit:read") ? (
              <a href={`/audit?key=${encodeURIComponent(key.id)}`} title="What was done with it">
                {idOf(key)}
              </a>
            ) : (
              idOf(key)
            )}
          </div>
          {key.certificateName !== undefined && <div class="muted">{plain(key.certificateName)}</div>}
        </>
      ),
    },
    { name: "Scopes", cell: ({ scopes }) => plain(scopes.join(", ")) },
    { name: "Created", cell: ({ createTime }) => <Time at={createTime} /> },
    {
      name: "Expires",
      cell: ({ revokeTime, expireTime }) =>
        revokeTime === undefined ? (
          <Time at={expireTime} />
        ) : (
          <>
            revoked <Time at={revokeTime} />
          </>
        ),
    },
  ]
  if (can("keys:write"))
    columns.push({
      name: "Actions",
      isUnnamed: true,
      cell: (key) =>
        !isOver(key) && (
          <button type="button" class="dangerous" onClick={() => revoke(key)}>
            Revoke
          </button>
        ),
    })
  return (
    <>
      <h1 tabIndex={-1}>Keys</h1>
      <p>
        The API keys of the tenant <b>{plain(tenant)}</b> in the database. Those of the service's configuration are not
        listed.
      </p>
      {can("keys:write") && (
        <p class="buttons">
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            Create a key
          </button>
        </p>
      )}
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p role="status">Loading…</p>}
      {page.answer && found.length === 0 && <Nothing>The database has no key of this tenant.</Nothing>}
      {found.length > 0 && (
        <Table columns={columns} rows={found} keyOf={({ id }) => id} isMuted={isOver} isBusy={page.isLoading} />
      )}
      <Pages pages={pages} next={page.answer?.nextPageToken} />
      {isCreating && <NewKey close={() => setCreating(false)} onDone={page.reload} />}
      {action && <Confirm action={action} close={() => setAction(undefined)} />}
    </>
  )
}

/** Whether a key is not valid any more. */
function isOver({ revokeTime, expireTime }: ApiKey): boolean {
  return revokeTime !== undefined || (expireTime !== undefined && timestampMs(expireTime) < Date.now())
}

const createdMs = ({ createTime }: ApiKey) => (createTime === undefined ? 0 : timestampMs(createTime))
