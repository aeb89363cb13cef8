import type { Check } from "../../import/check.js"
import type { AllDifferences } from "../../import/copy.js"
import { findingKinds } from "../../import/findings.js"
import type { ImportSource } from "../../import/item.js"
import { type PolicyDifference, policyText } from "../../import/session-policy.js"
import { bulkNames } from "../../store/sql/index.js"
import { table } from "./output.js"

/** Formats the report of a dry run: the number of rows, the findings with the first rows of each kind, and the conversions. */
export function checkReport(
  { notes, doubts = [] }: ImportSource,
  { findings, accepted }: Check,
  rows: Record<string, number>,
): string {
  const counts = table(
    ["", "rows", "importable"],
    bulkNames.map((name) => [name, String(rows[name]), String(accepted[name])]),
  )
  const empty =
    rows.users === 0 ? ["the source shows no users: is it the application's, and may its user read all of it?"] : []
  const summaries = findings.summaries()
  const found = summaries.map(({ kind, table: name, count }) => {
    const { severity, meaning } = findingKinds[kind]
    return [severity, String(count), name, `${kind}: they ${meaning}`]
  })
  const examples = summaries.flatMap(({ kind, count, examples: shown }) => [
    ...shown.map(({ row, detail }) => [kind, row, detail]),
    ...(count > shown.length ? [[kind, `and ${count - shown.length} more`, "--report FILE writes all of them"]] : []),
  ])
  const conversions = findings.conversions().map(({ table: name, property, what, count, example }) => {
    return [String(count), name, `${property}: ${what}`, example]
  })
  return [
    counts,
    ...(found.length === 0 ? [] : ["\n", table(["", "rows", "of", "what"], found)]),
    ...(examples.length === 0 ? [] : ["\n", table(["what", "row", "why"], examples)]),
    ...(conversions.length === 0 ? [] : ["\n", table(["values", "of", "conversion", "first"], conversions)]),
    ...[...empty, ...doubts, ...notes].map((note, index) => `${index === 0 ? "\n" : ""}note: ${note}\n`),
  ].join("")
}

/** Formats a session policy that a run with `--apply` makes that of the tenant. */
export function policyReport({ source, target }: PolicyDifference): string {
  return `\nsession policy: to become ${policyText(source)}; the tenant has ${policyText(target)}\n`
}

/** Formats what a copy changed, or what a comparison found. */
export function differencesReport(differences: AllDifferences, headings: [string, string, string]): string {
  return table(
    ["", ...headings],
    bulkNames.map((name) => {
      const { missing, changed, surplus } = differences[name]
      return [name, String(missing), String(changed), String(surplus)]
    }),
  )
}
