import { accounts } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { plain } from "../text.ts"

/** The accounts at providers that a user signs in with. */
export function Accounts({ userId, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded((signal) => accounts.listAccountsByUser({ userId, pageSize: 100 }, { signal }), [userId])
  const unlink = (provider: string, providerAccountId: string) =>
    ask({
      title: "Unlink this account?",
      label: "Unlink",
      isDangerous: true,
      about: (
        <p>
          The user can no longer sign in with {plain(provider)}, account {plain(providerAccountId)}.
        </p>
      ),
      run: async () => {
        await accounts.unlinkAccount({ provider, providerAccountId })
        return `Unlinked ${plain(provider)}.`
      },
      onDone: list.reload,
    })
  const found = list.answer?.accounts ?? []
  return (
    <section aria-labelledby="accounts">
      <h2 id="accounts">Accounts</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && <Nothing>No account is linked.</Nothing>}
      {found.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Provider</th>
              <th scope="col">Account</th>
              <th scope="col">Linked</th>
              <th scope="col">Token</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map(({ provider, providerAccountId, createTime, expiresAt }) => (
              <tr key={`${provider} ${providerAccountId}`}>
                <td>{plain(provider)}</td>
                <td class="cut">{plain(providerAccountId)}</td>
                <td>
                  <Time at={createTime} />
                </td>
                <td>{tokenState(expiresAt)}</td>
                <td>
                  {can("accounts:write") && (
                    <button type="button" onClick={() => unlink(provider, providerAccountId)}>
                      Unlink
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

/** @param expiresAt in seconds since 1970. */
function tokenState(expiresAt: number | bigint | undefined) {
  if (expiresAt === undefined) return <span class="muted">no expiry</span>
  const at = { $typeName: "google.protobuf.Timestamp", seconds: BigInt(expiresAt), nanos: 0 } as const
  const isGood = Number(expiresAt) * 1000 > Date.now()
  return (
    <span class={isGood ? "" : "muted"}>
      {isGood ? "good, expires " : "expired "}
      <Time at={at} />
    </span>
  )
}
