import type { Session } from "@authwire/proto"
import { sessions } from "../client.ts"
import { upTo, useLoaded } from "../loading.ts"
import { useNames } from "../names.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Shares } from "../parts/shares.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { UserLink } from "../parts/user-link.tsx"
import { counted, device } from "../text.ts"
import { sessionColumns } from "./sessions.tsx"

const listed = 5

/** The newest sessions, ended ones too: some of them, and many by provider, and by browser and system. */
export function NewestSessions() {
  const page = useLoaded(
    (signal) =>
      upTo(1000, async (page) => {
        const { sessions: found, nextPageToken } = await sessions.listSessions({ allUsers: true, ...page }, { signal })
        return [found, nextPageToken]
      }),
    [],
  )
  const found = page.answer?.items ?? []
  const newest = found.slice(0, listed)
  const nameOf = useNames(newest.map(({ userId }) => userId))
  const columns: Column<Session>[] = [
    { name: "User", cell: ({ userId }) => <UserLink id={userId} name={nameOf(userId)} /> },
    ...sessionColumns,
  ]
  return (
    <>
      <h2>Newest sessions</h2>
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p class="muted">Loading…</p>}
      {page.answer && found.length === 0 && <Nothing>There is no database session.</Nothing>}
      {found.length > 0 && (
        <>
          <Table columns={columns} rows={newest} keyOf={({ id }) => id} />
          <h2>How people sign in</h2>
          <p class="muted">
            {page.answer?.hasMore
              ? `Of the newest ${counted(found.length, "session")}.`
              : `${counted(found.length, "session")} in all.`}
          </p>
          <div class="columns">
            <section>
              <h3>By provider</h3>
              <Shares counts={countsOf(found, ({ provider }) => provider || "not known")} />
            </section>
            <section>
              <h3>By browser and system</h3>
              <Shares counts={countsOf(found, ({ userAgent }) => device(userAgent))} />
            </section>
          </div>
        </>
      )}
    </>
  )
}

function countsOf(found: readonly Session[], nameOf: (session: Session) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const session of found) counts.set(nameOf(session), (counts.get(nameOf(session)) ?? 0) + 1)
  return counts
}
