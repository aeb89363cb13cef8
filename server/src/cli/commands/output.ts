import Table from "cli-table3"

export interface CommandOutput {
  /**
   * Writes to standard output: the requested result. Rejects with StartError if it cannot be written. A command that
   * does not wait for it fails at its end.
   */
  print: (text: string) => Promise<void>
  /** Writes to standard error: remarks about the result. */
  say: (text: string) => void
}

const noLines = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "", "bottom-left": "" },
  ...{ "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
}

/** Formats a table with a heading line. Control characters are replaced, so that no cell can control the terminal. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 0 }
  const text = new Table({ head: [...head], chars: noLines, style })
  text.push(...rows.map((cells) => cells.map((cell) => cell.replaceAll(/\p{Cc}/gu, "?"))))
  return `${text.toString().replaceAll(/ +$/gm, "")}\n`
}
