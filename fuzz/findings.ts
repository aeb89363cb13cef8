import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromJson, type Input, toJson } from "./inputs.ts"

/** The findings of a run. Each kind is reported once. */
export interface Findings {
  /**
   * Adds a finding.
   *
   * @param what The description, which determines the kind.
   * @param inputs The inputs that may have caused it.
   * @param more Further details of this finding.
   */
  add(what: string, inputs: readonly Input[], more?: string): void
  /** The number of findings of each kind. */
  readonly counts: ReadonlyMap<string, number>
}

/** Writes the inputs of each kind of finding to a file in the folder, and reports the file. */
export function openFindings(folder: string, seed: number, say: (text: string) => void): Findings {
  const counts = new Map<string, number>()
  return {
    counts,
    add(what, inputs, more = "") {
      // Ids and numbers are ignored, because they differ between findings of the same kind.
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

/** Reads the inputs from the file of a finding. */
export function readFinding(path: string): Input[] {
  const { inputs } = JSON.parse(readFileSync(path, "utf8")) as { inputs: Record<string, unknown>[] }
  return inputs.map(fromJson)
}
