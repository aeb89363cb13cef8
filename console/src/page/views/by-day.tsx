import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { fewAtOnce } from "../few-at-once.ts"
import { useLoaded } from "../loading.ts"
import { Chart } from "../parts/chart.tsx"
import { Failed } from "../parts/feedback.tsx"
import { number } from "../text.ts"

const days = 30

interface Between {
  createdSince: Timestamp
  createdBefore: Timestamp
}

/** What is counted. It must not change between two renderings. */
export interface Counted {
  /** What is created, such as `sign-up`. */
  one: string
  /** The names of the chart and of the number of today. */
  names: { chart: string; today: string }
  total: { name: string; count: (signal: AbortSignal) => Promise<number> }
  count: (between: Between, signal: AbortSignal) => Promise<number>
}

/** A number in all, and how many were created today, lately, and on each of the last days in the viewer's zone. */
export function ByDay({ counted }: { counted: Counted }) {
  const { one, names, total } = counted
  // By itself, because the number in all may take long.
  const inAll = useLoaded(total.count, [counted])
  const counts = useLoaded((signal) => countsByDay(counted, signal), [counted])
  const last = (count: number) => counts.answer?.values.slice(-count).reduce((sum, value) => sum + value, 0)
  const isLoading = counts.error === undefined
  return (
    <>
      <dl class="figures">
        <Figure name={total.name} value={inAll.answer} isLoading={inAll.error === undefined} />
        <Figure name={names.today} value={last(1)} isLoading={isLoading} />
        <Figure name="in 7 days" value={last(7)} isLoading={isLoading} />
        <Figure name="in 30 days" value={last(days)} isLoading={isLoading} />
      </dl>
      <h2>{names.chart}</h2>
      {counts.error !== undefined && <Failed error={counts.error} retry={counts.reload} />}
      <Chart one={one} bars={counts.answer} />
    </>
  )
}

function Figure({ name, value, isLoading }: { name: string; value: number | undefined; isLoading: boolean }) {
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
  const values = await fewAtOnce(between, (one) => count(one, signal))
  return { days: starts.map((start) => start / 1000), values }
}
