import type { Authenticator } from "@authwire/proto"
import { authenticators } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { plain } from "../text.ts"

/** The passkeys of a user. */
export function Passkeys({ userId, changes, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded(
    (signal) => authenticators.listAuthenticators({ userId, pageSize: 100 }, { signal }),
    [userId, changes],
  )
  const remove = ({ credentialId, displayName }: Authenticator) =>
    ask({
      title: "Remove this passkey?",
      label: "Remove",
      isDangerous: true,
      about: <p>The user can no longer sign in with {displayName === undefined ? "it" : plain(displayName)}.</p>,
      run: async () => {
        await authenticators.deleteAuthenticator({ credentialId, userId })
        return "The passkey is removed."
      },
    })
  const found = list.answer?.authenticators ?? []
  const columns: Column<Authenticator>[] = [
    {
      name: "Passkey",
      class: "cut",
      cell: ({ displayName, credentialId }) =>
        displayName === undefined ? <code>{plain(credentialId.slice(0, 16))}…</code> : plain(displayName),
    },
    {
      name: "Kind",
      cell: ({ credentialDeviceType, credentialBackedUp }) =>
        (credentialDeviceType === "multiDevice" ? "synchronised" : "one device") +
        (credentialBackedUp ? ", backed up" : ""),
    },
    { name: "Created", cell: ({ createTime }) => <Time at={createTime} /> },
    { name: "Last used", cell: ({ lastUsedTime }) => <Time at={lastUsedTime} /> },
  ]
  if (can("authenticators:write"))
    columns.push({
      name: "Actions",
      isUnnamed: true,
      cell: (passkey) => (
        <button type="button" onClick={() => remove(passkey)}>
          Remove
        </button>
      ),
    })
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && <Nothing>The user has no passkey.</Nothing>}
      {found.length > 0 && <Table columns={columns} rows={found} keyOf={({ credentialId }) => credentialId} />}
    </section>
  )
}
