import { authenticators } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { plain } from "../text.ts"

/** The passkeys of a user. */
export function Passkeys({ userId }: PartProps) {
  const list = useLoaded((signal) => authenticators.listAuthenticatorsByUserId({ userId }, { signal }), [userId])
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
            </tr>
          </thead>
          <tbody>
            {found.map((one) => (
              <tr key={one.credentialId}>
                <td class="cut">
                  <code>{plain(one.credentialId.slice(0, 16))}…</code>
                </td>
                <td>
                  {one.credentialDeviceType === "multiDevice" ? "synchronised" : "one device"}
                  {one.credentialBackedUp ? ", backed up" : ""}
                </td>
                <td>
                  <Time at={one.createTime} />
                </td>
                <td>
                  <Time at={one.updateTime} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
