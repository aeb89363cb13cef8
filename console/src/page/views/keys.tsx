import type { ApiKey } from "@authwire/proto"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { useContext, useState } from "preact/hooks"
import { apiKeys } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { type Action, Confirm } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
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
        return apiKey ? `Revoked ${plain(name)}.` : "There is no such key any more."
      },
      onDone: page.reload,
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
        <table aria-busy={page.isLoading}>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Scopes</th>
              <th scope="col">Created</th>
              <th scope="col">Ends</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((key) => (
              <KeyRow
                key={key.id}
                apiKey={key}
                isOwn={key.id === own}
                revoke={can("keys:write") ? revoke : undefined}
              />
            ))}
          </tbody>
        </table>
      )}
      <Pages pages={pages} next={page.answer?.nextPageToken} />
      {isCreating && <NewKey close={() => setCreating(false)} onDone={page.reload} />}
      {action && <Confirm action={action} close={() => setAction(undefined)} />}
    </>
  )
}

function KeyRow(props: { apiKey: ApiKey; isOwn: boolean; revoke: ((key: ApiKey) => void) | undefined }) {
  const { apiKey: key, isOwn, revoke } = props
  const can = useCan()
  const isOver =
    key.revokeTime !== undefined || (key.expireTime !== undefined && timestampMs(key.expireTime) < Date.now())
  return (
    <tr class={isOver ? "muted" : ""}>
      <td class="cut">
        {plain(key.name)}
        {isOwn && <div class="muted">the key of this console</div>}
        <div>
          {can("audit:read") ? (
            <a href={`/audit?key=${encodeURIComponent(key.id)}`} title="What was done with it">
              <code>{plain(key.id)}</code>
            </a>
          ) : (
            <code>{plain(key.id)}</code>
          )}
        </div>
        {key.certificateName !== undefined && <div class="muted">{plain(key.certificateName)}</div>}
      </td>
      <td>{plain(key.scopes.join(", "))}</td>
      <td>
        <Time at={key.createTime} />
      </td>
      <td>
        {key.revokeTime === undefined ? (
          <Time at={key.expireTime} />
        ) : (
          <>
            revoked <Time at={key.revokeTime} />
          </>
        )}
      </td>
      <td>
        {revoke && !isOver && (
          <button type="button" class="dangerous" onClick={() => revoke(key)}>
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}

const createdMs = ({ createTime }: ApiKey) => (createTime === undefined ? 0 : timestampMs(createTime))
