import { type Database, unreadableTexts } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

const maxExamples = 5

/** Looks for texts in SQLite that the service cannot read. Throws StoreError. */
export async function diagnoseTexts(database: Database): Promise<Diagnosis[]> {
  if (database.dialect.checksText) return []
  const what = "text"
  const found: string[] = []
  for await (const { table, column, rowid } of unreadableTexts(database))
    found.push(`${table}.${column} at rowid ${rowid}`)
  if (found.length === 0) return [{ state: "ok", what, detail: "all of it is UTF-8 without U+0000" }]
  const more = found.length > maxExamples ? ` and ${found.length - maxExamples} more` : ""
  const detail = `not UTF-8, or with U+0000: ${found.slice(0, maxExamples).join(", ")}${more}: correct it, because what is not UTF-8 is returned as U+FFFD, and U+0000 is not allowed in any field`
  return [{ state: "wrong", what, detail }]
}
