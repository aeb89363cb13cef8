import type { Session } from "@authwire/proto"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { sessions } from "../client.ts"
import { useLoaded } from "../loading.ts"
import type { PartProps } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { device, number, plain } from "../text.ts"

/** Where a user is signed in, the newest sessions first. */
export function Sessions({ userId, ask }: PartProps) {
  const can = useCan()
  const list = useLoaded(
    (signal) => sessions.listSessions({ userId, active: true, pageSize: 100 }, { signal }),
    [userId],
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
      onDone: list.reload,
    })
  const signOutAll = () =>
    ask({
      title: "Sign the user out everywhere?",
      label: "Sign out everywhere",
      isDangerous: true,
      about: <p>All sessions of the user end. The user can sign in again.</p>,
      run: async () => `Signed out ${number((await sessions.revokeUserSessions({ userId })).revoked)} sessions.`,
      onDone: list.reload,
    })
  const found = list.answer?.sessions ?? []
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer && found.length === 0 && (
        <Nothing>The user is not signed in with a session in the database.</Nothing>
      )}
      {found.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Device</th>
              <th scope="col">From</th>
              <th scope="col">Signed in</th>
              <th scope="col">Last seen</th>
              <th scope="col">Expires</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((session) => (
              <tr key={session.id} class={isPast(session) ? "muted" : ""}>
                <td title={session.userAgent}>
                  {plain(device(session.userAgent))}
                  {session.impersonator !== undefined && (
                    <div class="mark">impersonated by {plain(session.impersonator)}</div>
                  )}
                </td>
                <td>
                  {plain(session.ip ?? "unknown")}
                  <div class="muted">{plain(session.provider ?? session.authMethod ?? "")}</div>
                </td>
                <td>
                  <Time at={session.createTime} />
                </td>
                <td>
                  <Time at={session.lastSeenTime} />
                </td>
                <td>
                  <Time at={session.expires} />
                </td>
                <td>
                  {can("sessions:write") && (
                    <button type="button" onClick={() => signOut(session)}>
                      Sign out
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
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

function isPast({ expires }: Session): boolean {
  return expires !== undefined && timestampMs(expires) < Date.now()
}
