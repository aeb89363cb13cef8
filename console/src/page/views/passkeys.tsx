import type { Authenticator } from "@authwire/proto"
import { authenticators } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { plain } from "../text.ts"

/** The passkeys of a user. */
export function Passkeys({ userId, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded((signal) => authenticators.listAuthenticators({ userId, pageSize: 100 }, { signal }), [userId])
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
      onDone: list.reload,
    })
  const found = list.answer?.authenticators ?? []
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && <Nothing>The user has no passkey.</Nothing>}
      {found.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Passkey</th>
              <th scope="col">Kind</th>
              <th scope="col">Created</th>
              <th scope="col">Last used</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((one) => (
              <tr key={one.credentialId}>
                <td class="cut">
                  {one.displayName === undefined ? (
                    <code>{plain(one.credentialId.slice(0, 16))}…</code>
                  ) : (
                    plain(one.displayName)
                  )}
                </td>
                <td>
                  {one.credentialDeviceType === "multiDevice" ? "synchronised" : "one device"}
                  {one.credentialBackedUp ? ", backed up" : ""}
                </td>
                <td>
                  <Time at={one.createTime} />
                </td>
                <td>
                  <Time at={one.lastUsedTime} />
                </td>
                <td>
                  {can("authenticators:write") && (
                    <button type="button" onClick={() => remove(one)}>
                      Remove
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
