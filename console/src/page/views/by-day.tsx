import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { fewAtOnce } from "../few-at-once.ts"
import { useLoaded } from "../loading.ts"
import { Bars } from "../parts/chart.tsx"
import { Failed } from "../parts/feedback.tsx"
import { number } from "../text.ts"

const days = 30

interface Between {
  createdSince: Timestamp
  createdBefore: Timestamp
}

/** What is counted. It must not change between two renderings. */
export interface Counted {
  /** What is created, such as "Sign-ups". */
  label: string
  total: { name: string; count: (signal: AbortSignal) => Promise<number> }
  count: (between: Between, signal: AbortSignal) => Promise<number>
}

/** A number in all, and how many were created today, lately, and on each of the last days in the viewer's zone. */
export function ByDay({ counted }: { counted: Counted }) {
  const { label, total } = counted
  // By itself, because the number in all may take long.
  const inAll = useLoaded(total.count, [counted])
  const counts = useLoaded((signal) => countsByDay(counted, signal), [counted])
  if (counts.answer === undefined) {
    return counts.error === undefined ? (
      <p role="status">Loading…</p>
    ) : (
      <Failed error={counts.error} retry={counts.reload} />
    )
  }
  const { starts, created } = counts.answer
  const last = (count: number) => created.slice(-count).reduce((sum, one) => sum + one, 0)
  return (
    <>
      <dl class="figures">
        <Figure name={total.name} value={inAll.answer} isLoading={inAll.error === undefined} />
        <Figure name={`${label} today`} value={last(1)} />
        <Figure name="in 7 days" value={last(7)} />
        <Figure name="in 30 days" value={last(days)} />
      </dl>
      <h2>{label} by day</h2>
      <Bars label={label} days={starts.map((start) => start / 1000)} values={created} />
    </>
  )
}

function Figure({ name, value, isLoading = false }: { name: string; value: number | undefined; isLoading?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value === undefined ? (isLoading ? "…" : "not known") : number(value)}</dd>
    </div>
  )
}

async function countsByDay({ count }: Counted, signal: AbortSignal) {
  const today = new Date()
  const starts = Array.from({ length: days + 1 }, (_, index) =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1 + index).getTime(),
  )
  const end = starts.pop() as number
  const between = starts.map((start, index) => ({
    createdSince: timestampFromMs(start),
    createdBefore: timestampFromMs(starts[index + 1] ?? end),
  }))
  return { starts, created: await fewAtOnce(between, (one) => count(one, signal)) }
}
