import { readFileSync, writeFileSync } from "node:fs"
import type { Facts, MachineFacts } from "../facts.ts"

/** Returns a table. The first column is text, the others are numbers. The cells are Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => (row[column] ?? "").length)))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  const line = (row: readonly string[]) => `| ${row.map(pad).join(" | ")} |`
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join("\n")
}

/** Formats milliseconds, seconds or ratios with a sensible number of digits. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return ""
  if (value >= 100) return String(Math.round(value))
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Formats a count in groups of three digits. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US")
}

export const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Returns the date of a measurement and the machine. */
export function machineText({ date, commit, cores, cpu, memoryGib, kernel, node }: MachineFacts): string {
  const when = date.replace("T", " ").replace("Z", " UTC")
  return `Measured on ${when} at commit ${commit}: ${cores} × ${cpu}, ${memoryGib} GiB, Linux ${kernel}, Node ${node}`
}

/** Returns the same with the database and the measured versions. */
export function factsText(facts: Facts): string {
  const versions = Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`)
  const settings = Object.entries(facts.settings).map(([name, value]) => `\`${name}\` ${value}`)
  return `${machineText(facts)}, ${facts.mysql} (${settings.join(", ")}) on the same machine; ${versions.join(", ")}.`
}

/** The page of the summary, and that of all other tables. */
const [summary, results] = ["../../docs/performance.md", "../results.md"].map(
  (path) => new URL(path, import.meta.url),
) as [URL, URL]

/** Replaces the text between the marks of a program in its page. */
export function writeSection(program: string, text: string): void {
  const page = program === "bench/report.ts" ? summary : results
  const [begin, end] = [`<!-- written by ${program}: begin -->`, `<!-- written by ${program}: end -->`]
  const [before, rest] = readFileSync(page, "utf8").split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page.pathname} has no section for ${program}`)
  writeFileSync(page, `${before}${begin}\n\n${text.trim()}\n\n${end}${after}`)
}
