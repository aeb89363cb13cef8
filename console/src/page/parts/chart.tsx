import { useEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"

/** Bars over days. `days` are the beginnings of the days in seconds since 1970; `values` has one number for each. */
export function Bars({ label, days, values }: { label: string; days: readonly number[]; values: readonly number[] }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const style = getComputedStyle(element)
    const line = { stroke: style.getPropertyValue("--line"), width: 1 }
    const axis = { stroke: style.getPropertyValue("--muted"), grid: line, ticks: line, font: "12px system-ui" }
    const size = () => ({ width: element.clientWidth, height: 180 })
    const plot = new uPlot(
      {
        ...size(),
        scales: { y: { range: (_, __, max) => [0, Math.max(max, 4)] } },
        axes: [axis, { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000, 50_000] }],
        series: [
          {},
          {
            label,
            fill: style.getPropertyValue("--accent"),
            ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 40] }) }),
            points: { show: false },
          },
        ],
      },
      [[...days], [...values]],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize(size()))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [days, values, label])
  const total = values.reduce((sum, one) => sum + one, 0)
  return (
    <div
      class="chart"
      ref={place}
      role="img"
      aria-label={`${label} on each of the last ${days.length} days, ${total} in all`}
    />
  )
}
