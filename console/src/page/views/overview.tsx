import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { audit, sessions, users } from "../client.ts"
import { upTo, useLoaded } from "../loading.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { useStatus } from "../parts/header.tsx"
import { Shares } from "../parts/shares.tsx"
import { useCan } from "../permissions.ts"
import { number } from "../text.ts"
import { ByDay, type Counted } from "./by-day.tsx"
import { NewestSessions } from "./newest-sessions.tsx"

const dayMs = 86_400_000

/** How many users and sessions there are and were created, what was rejected, and the state of the service. */
export function Overview() {
  const can = useCan()
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      {can("users:read") ? (
        <ByDay counted={signUps} />
      ) : (
        <Nothing>The API key may not count users (scope users:read).</Nothing>
      )}
      {can("sessions:read") && (
        <>
          <ByDay counted={keptSessions} />
          <p class="muted">
            Only sessions that still exist: a sign-out deletes one, and so does the cleanup some time after it expires.
          </p>
          <NewestSessions />
        </>
      )}
      {can("audit:read") && <Rejected />}
      <State />
    </>
  )
}

const signUps: Counted = {
  one: "sign-up",
  names: { chart: "Sign-ups by day", today: "Sign-ups today" },
  total: { name: "Users", count: async (signal) => (await users.countUsers({}, { signal })).count },
  count: async (between, signal) => (await users.countUsers(between, { signal })).count,
}

/** A session that has been deleted, because the user has signed out, is not counted any more. */
const keptSessions: Counted = {
  one: "session",
  names: { chart: "Sessions by the day of their sign-in", today: "Signed in today" },
  total: {
    name: "Active sessions",
    count: async (signal) => (await sessions.countSessions({ active: true }, { signal })).count,
  },
  count: async (between, signal) => (await sessions.countSessions(between, { signal })).count,
}

/** The calls that failed in the last day, by reason: of users who are disabled, of wrong keys, of limits. */
function Rejected() {
  const page = useLoaded((signal) => {
    const since = timestampFromMs(Date.now() - dayMs)
    return upTo(1000, async (page) => {
      const { entries, nextPageToken } = await audit.listAuditEntries({ ...page, since }, { signal })
      return [entries, nextPageToken]
    })
  }, [])
  const counts = new Map<string, bigint>()
  for (const { code, reason, count } of page.answer?.items ?? []) {
    if (code !== "OK") counts.set(reason || code, (counts.get(reason || code) ?? 0n) + (count || 1n))
  }
  return (
    <>
      <h2>Rejected in the last day</h2>
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p class="muted">Loading…</p>}
      {page.answer && counts.size === 0 && (
        <Nothing>None, as far as the service keeps the audit (--audit-store=database).</Nothing>
      )}
      <Shares counts={counts} />
      {page.answer?.hasMore && <p class="muted">Among the newest {number(page.answer.items.length)} entries.</p>}
      {counts.size > 0 && (
        <p>
          <a href="/audit">The audit</a>
        </p>
      )}
    </>
  )
}

function State() {
  const status = useStatus()
  if (status === undefined) return null
  return (
    <>
      <h2>Service</h2>
      <p>
        <code>{status.service}</code> is{" "}
        <b class={status.isReady ? "ready" : "away"}>{status.isReady ? "ready" : "not ready"}</b>
        {status.isReady ? "" : `: ${status.detail}`}
      </p>
    </>
  )
}
