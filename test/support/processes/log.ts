import type { ServerProcess } from "./server.js"

interface Parsed {
  /** The length of the text of these lines. */
  length: number
  lines: Record<string, unknown>[]
}

/** What was parsed of each log, because tests wait for lines of a log that may have thousands. */
const parsed = new WeakMap<ServerProcess, Parsed>()

/** Parses the lines of the log. Throws if a line is not complete JSON. */
export function logOf(server: ServerProcess): Record<string, unknown>[] {
  const text = server.log()
  const before = parsed.get(server) ?? { length: 0, lines: [] }
  const length = text.lastIndexOf("\n") + 1
  const added = text.slice(before.length, length).split("\n").slice(0, -1)
  const lines = before.lines.concat(
    added.map((line) => {
      try {
        return JSON.parse(line)
      } catch {
        throw new Error(`not a line of the log: ${line}`)
      }
    }),
  )
  parsed.set(server, { length, lines })
  return lines
}
