import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { users } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { Bars } from "../parts/chart.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { useStatus } from "../parts/header.tsx"
import { useCan } from "../permissions.ts"
import { number } from "../text.ts"

const dayMs = 86_400_000
const days = 30

/** How many users there are and were created, and the state of the service. */
export function Overview() {
  const can = useCan()
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      {can("users:read") ? <SignUps /> : <Nothing>The API key may not count users (scope users:read).</Nothing>}
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
  const created: number[] = []
  const { count: total } = await users.countUsers({}, { signal })
  // One after another, so that a large tenant's console takes no more than one count at a time.
  for (const [index, start] of starts.slice(0, -1).entries()) {
    const between = {
      createdSince: timestampFromMs(start),
      createdBefore: timestampFromMs(starts[index + 1] ?? start + dayMs),
    }
    created.push((await users.countUsers(between, { signal })).count)
  }
  return { total, starts: starts.slice(0, -1), created }
}
