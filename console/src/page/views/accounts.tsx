import type { Account } from "@authwire/proto"
import { accounts } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { plain } from "../text.ts"

/** The accounts at providers that a user signs in with. */
export function Accounts({ userId, changes, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded(
    (signal) => accounts.listAccountsByUser({ userId, pageSize: 100 }, { signal }),
    [userId, changes],
  )
  const unlink = ({ provider, providerAccountId }: Account) =>
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
    })
  const found = list.answer?.accounts ?? []
  const columns: Column<Account>[] = [
    { name: "Provider", cell: ({ provider }) => plain(provider) },
    { name: "Account", class: "cut", cell: ({ providerAccountId }) => plain(providerAccountId) },
    { name: "Linked", cell: ({ createTime }) => <Time at={createTime} /> },
    { name: "Token", cell: ({ expiresAt }) => tokenState(expiresAt) },
  ]
  if (can("accounts:write"))
    columns.push({
      name: "Actions",
      isUnnamed: true,
      cell: (account) => (
        <button type="button" onClick={() => unlink(account)}>
          Unlink
        </button>
      ),
    })
  return (
    <section aria-labelledby="accounts">
      <h2 id="accounts">Accounts</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && <Nothing>No account is linked.</Nothing>}
      {found.length > 0 && (
        <Table
          columns={columns}
          rows={found}
          keyOf={({ provider, providerAccountId }) => `${provider} ${providerAccountId}`}
        />
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
