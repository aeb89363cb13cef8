import Table from "cli-table3"

export interface CommandOutput {
  /** Standard output: what was asked for. */
  print: (text: string) => void
  /** Standard error: what to know about it. */
  say: (text: string) => void
}

const noLines = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "", bottom: "", "bottom-mid": "", "bottom-left": "" },
  ...{ "bottom-right": "", left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
}

/** Text in columns, with a line of headings. Nothing in it can move the cursor of a terminal. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 0 }
  const text = new Table({ head: [...head], chars: noLines, style })
  text.push(...rows.map((cells) => cells.map((cell) => cell.replaceAll(/\p{Cc}/gu, "?"))))
  return `${text.toString().replaceAll(/ +$/gm, "")}\n`
}
