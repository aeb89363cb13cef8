import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { audit, users } from "../client.ts"
import { fewAtOnce } from "../few-at-once.ts"
import { useLoaded } from "../loading.ts"
import { Bars } from "../parts/chart.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { useStatus } from "../parts/header.tsx"
import { Shares } from "../parts/shares.tsx"
import { useCan } from "../permissions.ts"
import { number } from "../text.ts"
import { NewestSessions } from "./newest-sessions.tsx"

const dayMs = 86_400_000
const days = 30

/** How many users there are and were created, and the state of the service. */
export function Overview() {
  const can = useCan()
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      {can("users:read") ? <SignUps /> : <Nothing>The API key may not count users (scope users:read).</Nothing>}
      {can("sessions:read") && <NewestSessions />}
      {can("audit:read") && <Rejected />}
      <State />
    </>
  )
}

function SignUps() {
  const counts = useLoaded(countUsers, [])
  if (counts.answer === undefined) {
    return counts.error === undefined ? (
      <p role="status">Loading…</p>
    ) : (
      <Failed error={counts.error} retry={counts.reload} />
    )
  }
  const { total, starts, created } = counts.answer
  const last = (count: number) => created.slice(-count).reduce((sum, one) => sum + one, 0)
  return (
    <>
      <dl class="figures">
        <Figure name="Users" value={total} />
        <Figure name="Sign-ups today" value={last(1)} />
        <Figure name="in 7 days" value={last(7)} />
        <Figure name="in 30 days" value={last(days)} />
      </dl>
      <h2>Sign-ups by day</h2>
      <Bars label="Sign-ups" days={starts.map((start) => start / 1000)} values={created} />
    </>
  )
}

function Figure({ name, value }: { name: string; value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{number(value)}</dd>
    </div>
  )
}

/** The calls that failed in the last day, by reason: of users who are blocked, of wrong keys, of limits. */
function Rejected() {
  const page = useLoaded(
    (signal) => audit.listAuditEntries({ pageSize: 1000, since: timestampFromMs(Date.now() - dayMs) }, { signal }),
    [],
  )
  const counts = new Map<string, bigint>()
  for (const { code, reason, count } of page.answer?.entries ?? []) {
    if (code !== "OK") counts.set(reason || code, (counts.get(reason || code) ?? 0n) + (count || 1n))
  }
  return (
    <>
      <h2>Rejected in the last day</h2>
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer && counts.size === 0 && (
        <Nothing>None, as far as the service keeps the audit (--audit-store=database).</Nothing>
      )}
      <Shares counts={counts} />
      {page.answer?.nextPageToken && (
        <p class="muted">Among the newest {number(page.answer.entries.length)} entries.</p>
      )}
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

/** Counts the users, and those who were created on each of the last days, in the viewer's zone. */
async function countUsers(signal: AbortSignal) {
  const today = new Date()
  const starts = Array.from({ length: days + 1 }, (_, index) =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1 + index).getTime(),
  )
  const end = starts.pop() as number
  const between = starts.map((start, index) => ({
    createdSince: timestampFromMs(start),
    createdBefore: timestampFromMs(starts[index + 1] ?? end),
  }))
  const [total = 0, ...created] = await fewAtOnce(
    [{}, ...between],
    async (filter) => (await users.countUsers(filter, { signal })).count,
  )
  return { total, starts, created }
}
