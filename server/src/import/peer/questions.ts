import { StartError } from "../../errors/start-error.js"
import type { BulkName } from "../../store/sql/index.js"

/** Something about names that only the mapping can say. */
export interface Question {
  /** What is missing, or may be meant. */
  what: string
  /** Whether it is about a table, so that all tables are named. */
  isTable?: boolean
  /** The part of a mapping that may be the answer. */
  answer?: Answer | undefined
}

const sections = ["tables", "columns", "ignore"] as const

type Answer = Readonly<Partial<Record<(typeof sections)[number], Readonly<Partial<Record<BulkName, unknown>>>>>>

/** Asks for a table that is missing. `almost`: the tables whose names are almost its name. */
export function tableQuestion(name: BulkName, table: string, almost: readonly string[] = []): Question {
  const what = `there is no table ${table} for ${name}`
  const [first] = almost
  if (first !== undefined) return { what: `${what}, but ${almost.join(", ")}`, answer: { tables: { [name]: first } } }
  return { what, isTable: true, answer: name === "users" ? undefined : { tables: { [name]: null } } }
}

/** Asks for a column that is missing. */
export function columnQuestion(table: string, column: string, there: readonly string[]): Question {
  return { what: `the table ${table} has no column ${column}, only ${there.join(", ")}` }
}

/** Asks about columns whose names are almost those of the contract. `isFree`: whether no other column is the property. */
export function nearQuestion(
  name: BulkName,
  table: string,
  near: readonly (readonly [field: string, column: string])[],
  isFree: (field: string) => boolean,
): Question {
  const columns = Object.fromEntries(near.filter(([field]) => isFree(field)))
  const ignore = [...new Set(near.filter(([field]) => !isFree(field)).map(([, column]) => column))]
  const names = near.map(([field, column]) => `${column} (${field})`).join(", ")
  return {
    what: `the table ${table} has columns whose names are almost those of Auth.js: ${names}`,
    answer: {
      ...(Object.keys(columns).length > 0 && { columns: { [name]: columns } }),
      ...(ignore.length > 0 && { ignore: { [name]: ignore } }),
    },
  }
}

/** Returns the error that asks all questions at once, with a mapping that can be used as it is. */
export function asked(questions: readonly Question[], tables: readonly string[]): StartError {
  const answers = sections.map((section) => {
    return [section, Object.assign({}, ...questions.map(({ answer }) => answer?.[section]))] as const
  })
  const mapping = Object.fromEntries(answers.filter(([, answer]) => Object.keys(answer).length > 0))
  const none = Object.values(mapping.tables ?? {}).includes(null) ? " (null: the application has none)" : ""
  const hint =
    Object.keys(mapping).length === 0
      ? "see --mapping"
      : `say in the file of --mapping what is meant${none}, for example ${JSON.stringify(mapping)}`
  const parts = questions.map(({ what }) => what)
  if (questions.some(({ isTable }) => isTable)) parts.push(`the tables are ${tables.join(", ") || "none"}`)
  return new StartError(`--url: ${[...parts, hint].join("; ")}`)
}
