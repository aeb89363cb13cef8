import { mkdirSync, writeFileSync } from "node:fs"
import { parse, View } from "vega"
import { type Config, compile, type TopLevelSpec } from "vega-lite"

export const plotsFolder = new URL("../../docs/performance/", import.meta.url)

const look: Config = {
  background: "white",
  font: "sans-serif",
  axis: { gridColor: "#e5e5e5", domainColor: "#888", tickColor: "#888" },
  view: { stroke: null },
}

export interface LinePoint {
  x: number
  y: number
  line: string
}

export interface LinePlot {
  title: string
  x: string
  y: string
  points: readonly LinePoint[]
  /** The lines in their order, if the legend is to have it. */
  lines?: readonly string[]
  /** Whether each value of x has its own place, at the same distance. */
  ordinal?: boolean
  /** Whether the lines have points where something was measured. */
  marks?: boolean
}

/** Writes a plot of lines to docs/performance/NAME.svg. */
export async function plotLines(name: string, { title, x, y, points, lines, ordinal, marks = true }: LinePlot) {
  await draw(name, {
    title,
    width: 560,
    height: 300,
    data: { values: [...points] },
    mark: { type: "line", point: marks },
    encoding: {
      x: { field: "x", type: ordinal ? "ordinal" : "quantitative", title: x, axis: { labelAngle: 0 } },
      y: { field: "y", type: "quantitative", title: y, scale: { zero: true } },
      color: {
        field: "line",
        type: "nominal",
        title: null,
        legend: { labelLimit: 300 },
        ...(lines && { scale: { domain: [...lines] } }),
      },
    },
  })
}

export interface Bar {
  name: string
  value: number
  group: string
}

/** Writes a plot of bars, a small one for each group, to docs/performance/NAME.svg. */
export async function plotBars(
  name: string,
  options: { title: string; x: string; bars: readonly Bar[]; columns: number },
) {
  const { title, x, bars, columns } = options
  const unique = (of: (bar: Bar) => string) => [...new Set(bars.map(of))]
  await draw(name, {
    title,
    data: { values: [...bars] },
    facet: { field: "group", type: "nominal", title: null, sort: unique(({ group }) => group) },
    columns,
    resolve: { scale: { x: "independent" } },
    spec: {
      width: 240,
      height: { step: 18 },
      mark: "bar",
      encoding: {
        x: { field: "value", type: "quantitative", title: x },
        y: { field: "name", type: "nominal", title: null, sort: unique(({ name }) => name), axis: { labelLimit: 300 } },
        color: { field: "name", type: "nominal", legend: null, sort: unique(({ name }) => name) },
      },
    },
  })
}

async function draw(name: string, spec: TopLevelSpec): Promise<void> {
  const view = new View(parse(compile({ ...spec, config: look }).spec), { renderer: "none" })
  const svg = await view.toSVG()
  mkdirSync(plotsFolder, { recursive: true })
  writeFileSync(new URL(`${name}.svg`, plotsFolder), `${svg}\n`)
}
