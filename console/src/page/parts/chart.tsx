import { useEffect, useRef, useState } from "preact/hooks"
import uPlot from "uplot"
import { counted, dayOf, number } from "../text.ts"
import "uplot/dist/uPlot.min.css"

/** What a chart shows: the beginnings of days in seconds since 1970, and a number for each. */
export interface Bars {
  days: readonly number[]
  values: readonly number[]
}

/**
 * Bars over days. The line below says the number of the day at the pointer, otherwise of the last one.
 *
 * @param one what is counted, such as `sign-up`.
 * @param bars undefined until they are known.
 */
export function Chart({ one, bars }: { one: string; bars: Bars | undefined }) {
  const place = useRef<HTMLDivElement>(null)
  const [pointed, setPointed] = useState<number>()
  useEffect(() => {
    const element = place.current
    if (element === null || bars === undefined) return
    const style = getComputedStyle(element)
    const line = { stroke: style.getPropertyValue("--line"), width: 1 }
    const axis = { stroke: style.getPropertyValue("--muted"), grid: line, ticks: line, font: "12px system-ui" }
    const size = () => ({ width: element.clientWidth, height: 180 })
    const plot = new uPlot(
      {
        ...size(),
        legend: { show: false },
        cursor: { y: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(max, 4)] } },
        axes: [
          { ...axis, space: 64, values: (_, splits) => splits.map((second) => dayOf(second * 1000)) },
          {
            ...axis,
            incrs: [1, 2, 5]
              .flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].map((size) => step * size))
              .sort((a, b) => a - b),
            values: (_, splits) => splits.map((value) => number(value)),
            // As wide as the longest number.
            size: (_, texts) => 24 + 7 * Math.max(1, ...(texts ?? []).map((text) => text.length)),
          },
        ],
        series: [
          {},
          {
            fill: style.getPropertyValue("--accent"),
            ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 40] }) }),
            points: { show: false },
          },
        ],
        hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)] },
      },
      [[...bars.days], [...bars.values]],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize(size()))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [bars])
  const { days = [], values = [] } = bars ?? {}
  const shown = pointed ?? days.length - 1
  const total = values.reduce((sum, value) => sum + value, 0)
  const name = bars && `${counted(total, one)} in the last ${days.length} days, by day`
  return (
    <figure class="chart">
      <div class="plot" ref={place} role="img" aria-label={name ?? "Loading"} />
      <figcaption>
        {bars ? `${dayOf((days[shown] ?? 0) * 1000)}: ${counted(values[shown] ?? 0, one)}` : "Loading…"}
      </figcaption>
    </figure>
  )
}
