import type { Session } from "@authwire/proto"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { sessions } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { counted, device, plain } from "../text.ts"

/** Where a user is signed in, the newest sessions first. */
export function Sessions({ userId, changes, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded(
    (signal) => sessions.listSessions({ userId, active: true, pageSize: 100 }, { signal }),
    [userId, changes],
  )
  const signOut = ({ id, userAgent }: Session) =>
    ask({
      title: "Sign this session out?",
      label: "Sign out",
      about: <p>{plain(device(userAgent))} is signed out at its next request.</p>,
      run: async () => {
        const { session } = await sessions.revokeSession({ id, userId })
        return session ? "The session is signed out." : "The session had ended before."
      },
    })
  const signOutAll = () =>
    ask({
      title: "Sign the user out everywhere?",
      label: "Sign out everywhere",
      isDangerous: true,
      about: <p>All sessions of the user end. The user can sign in again.</p>,
      run: async () => `Signed out of ${counted((await sessions.revokeUserSessions({ userId })).revoked, "session")}.`,
    })
  const found = list.answer?.sessions ?? []
  const columns = [...sessionColumns]
  if (can("sessions:write"))
    columns.push({
      name: "Actions",
      isUnnamed: true,
      cell: (session) => (
        <button type="button" onClick={() => signOut(session)}>
          Sign out
        </button>
      ),
    })
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && (
        <Nothing>The user is not signed in with a session in the database.</Nothing>
      )}
      {found.length > 0 && <Table columns={columns} rows={found} keyOf={({ id }) => id} isMuted={isPast} />}
      {list.answer?.nextPageToken && <p class="muted">These are the newest. There are more.</p>}
      {found.length > 0 && can("sessions:write") && (
        <p class="buttons">
          <button type="button" class="dangerous" onClick={signOutAll}>
            Sign out everywhere
          </button>
        </p>
      )}
    </section>
  )
}

/** What a table says about a session. */
export const sessionColumns: readonly Column<Session>[] = [
  {
    name: "Device",
    cell: ({ userAgent, impersonator }) => (
      <>
        <span title={userAgent}>{plain(device(userAgent))}</span>
        {impersonator !== undefined && <div class="mark">impersonated by {plain(impersonator)}</div>}
      </>
    ),
  },
  {
    name: "From",
    cell: ({ ip, provider, authMethod }) => (
      <>
        {plain(ip ?? "unknown")}
        <div class="muted">{plain(provider ?? authMethod ?? "")}</div>
      </>
    ),
  },
  { name: "Signed in", cell: ({ createTime }) => <Time at={createTime} /> },
  { name: "Last seen", cell: ({ lastSeenTime }) => <Time at={lastSeenTime} /> },
  { name: "Expires", cell: ({ expires }) => <Time at={expires} /> },
]

function isPast({ expires }: Session): boolean {
  return expires !== undefined && timestampMs(expires) < Date.now()
}
