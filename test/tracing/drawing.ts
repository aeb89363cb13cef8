import type { CollectedSpan } from "@authwire/test-support/machine/collector.js"

const rowHeight = 22
const labelWidth = 400
const chartWidth = 440
const timeWidth = 78
const margin = 12

const style = `
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #24292f }
  .time { text-anchor: end; fill: #57606a }
  .background { fill: #ffffff }
  .line { stroke: #d0d7de }
  .application { fill: #8250df }
  .client { fill: #0969da }
  .server { fill: #1a7f37 }
  .database { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .time { fill: #8b949e }
    .background { fill: #0d1117 }
    .line { stroke: #30363d }
  }`

const legend = [
  ["application", "the application"],
  ["client", "its client"],
  ["server", "the service"],
  ["database", "a statement"],
] as const

/** Draws one trace as SVG. Each span has a row, below its parent span. */
export function drawTrace(spans: readonly CollectedSpan[]): string {
  const rows = rowsOf(spans, "", 0)
  const begin = Math.min(...rows.map(({ span }) => msOf(span.start)))
  const length = Math.max(...rows.map(({ span }) => msOf(span.end))) - begin
  const width = margin * 2 + labelWidth + chartWidth + timeWidth
  const height = margin * 2 + rowHeight * (rows.length + 1.5)
  const x = (ms: number) => margin + labelWidth + ((ms - begin) / length) * chartWidth
  const bars = rows.map(({ span, depth }, index) => {
    const y = margin + rowHeight * index
    const [from, to] = [x(msOf(span.start)), x(msOf(span.end))]
    const took = `${(msOf(span.end) - msOf(span.start)).toFixed(2)} ms`
    return [
      `<text x="${margin + depth * 14}" y="${y + 15}">${labelOf(span)}</text>`,
      `<rect class="${colourOf(span)}" x="${from.toFixed(1)}" y="${y + 5}" width="${Math.max(to - from, 1.5).toFixed(1)}" height="12" rx="2"/>`,
      `<text class="time" x="${width - margin}" y="${y + 15}">${took}</text>`,
      `<line class="line" x1="${margin}" x2="${width - margin}" y1="${y + rowHeight}" y2="${y + rowHeight}"/>`,
    ].join("\n")
  })
  const names = legend.map(([colour, text], index) => {
    const left = margin + index * 160
    return `<rect class="${colour}" x="${left}" y="${height - margin - 11}" width="12" height="12" rx="2"/>
<text x="${left + 18}" y="${height - margin}">${text}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The trace of a sign-in">
<style>${style}
</style>
<rect class="background" width="${width}" height="${height}"/>
${[...bars, ...names].join("\n")}
</svg>
`
}

interface Row {
  readonly span: CollectedSpan
  readonly depth: number
}

function rowsOf(spans: readonly CollectedSpan[], parentId: string, depth: number): Row[] {
  return spans
    .filter((span) => span.parentId === parentId)
    .toSorted((a, b) => Number(a.start - b.start))
    .flatMap((span) => [{ span, depth }, ...rowsOf(spans, span.spanId, depth + 1)])
}

/** All processes are on one machine, and a trace is short enough that its times fit into a number. */
function msOf(nanoseconds: bigint): number {
  return Number(nanoseconds % 1_000_000_000_000n) / 1e6
}

function labelOf({ name, attributes }: CollectedSpan): string {
  const method = name.replace(/^authwire\.v1\./, "")
  const way = attributes["authwire.transport"]
  return way === undefined ? method : `${method} (${way})`
}

function colourOf({ kind, attributes }: CollectedSpan): (typeof legend)[number][0] {
  if (attributes["db.system.name"] !== undefined) return "database"
  return kind === "client" || kind === "server" ? kind : "application"
}
