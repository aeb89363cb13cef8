import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromJson, type Input, toJson } from "./inputs.ts"

/** What was found, each kind of it once. */
export interface Findings {
  /**
   * @param what was found: names its kind.
   * @param inputs that may have done it.
   * @param more to say of this one.
   */
  add(what: string, inputs: readonly Input[], more?: string): void
  /** How often each was found. */
  readonly counts: ReadonlyMap<string, number>
}

/** Writes the inputs of each kind of finding into a file of the folder, and says so. */
export function openFindings(folder: string, seed: number, say: (text: string) => void): Findings {
  const counts = new Map<string, number>()
  return {
    counts,
    add(what, inputs, more = "") {
      // What differs from one input to the next does not make another finding.
      const kind = what.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+(\.\d+)?/g, "N").slice(0, 300)
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      if (count > 1 || counts.size > 50) return
      mkdirSync(folder, { recursive: true })
      const path = join(folder, `${seed}-${counts.size}.json`)
      writeFileSync(path, JSON.stringify({ what, more, inputs: inputs.map(toJson) }, null, 1))
      say(`FINDING ${what.slice(0, 1000)}\n${more}  replay: make fuzz ARGS="--replay ${path}"`)
    },
  }
}

/** The inputs of a file that a finding left. */
export function readFinding(path: string): Input[] {
  const { inputs } = JSON.parse(readFileSync(path, "utf8")) as { inputs: Record<string, unknown>[] }
  return inputs.map(fromJson)
}
