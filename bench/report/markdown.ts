import { readFileSync, writeFileSync } from "node:fs"

/** A table; the first column is text, the others are numbers. Cells are Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => (row[column] ?? "").length)))
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (column === 0 ? (row[column] ?? "").padEnd(width) : (row[column] ?? "").padStart(width))).join(" | ")} |`
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join("\n")
}

/** Milliseconds, seconds or ratios, as exact as they are. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return ""
  if (value >= 100) return String(Math.round(value))
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Counts, in groups of three digits. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US")
}

export const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

const page = new URL("../../docs/performance.md", import.meta.url)

/** Replaces what stands between the marks of a program in docs/performance.md. */
export function writeSection(program: string, text: string): void {
  const [begin, end] = [`<!-- written by ${program}: begin -->`, `<!-- written by ${program}: end -->`]
  const [before, rest] = readFileSync(page, "utf8").split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`docs/performance.md has no section for ${program}`)
  writeFileSync(page, `${before}${begin}\n\n${text.trim()}\n\n${end}${after}`)
}
