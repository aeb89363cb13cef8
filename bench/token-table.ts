/** A line of a table. */
export interface Row {
  what: string
  microseconds: number
  /** By the time of @auth/core. */
  ratio: number
  /** What the ratio should be, or nothing. */
  goal: string
}

/** Says when and where the numbers were measured. */
export function header(facts: { date: Date; machine: string; versions: string; rounds: number }): string {
  return `Measured on ${facts.date.toISOString().slice(0, 10)}: ${facts.machine}; ${facts.versions}; ${facts.rounds} rounds.
All in one process and in turn; medians over the rounds. A ratio is that of two times of one round, to @auth/core.
`
}

/** The lines as Markdown. */
export function table(rows: Row[]): string {
  const lines = rows.map(({ what, microseconds, ratio, goal }) => [
    what,
    microseconds.toFixed(1),
    ratio.toFixed(2),
    goal,
  ])
  const cells = [["", "µs", "ratio", "goal"], ...lines]
  const widths = [0, 1, 2, 3].map((column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  const [head, ...body] = cells.map(line)
  return `${[head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n")}\n`
}
