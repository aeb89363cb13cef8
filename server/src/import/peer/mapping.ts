import { readFileSync } from "node:fs"
import { z } from "zod"
import { StartError } from "../../bootstrap/start-error.js"
import { bulkNames } from "../../store/sql/index.js"
import { fields } from "./layouts.js"

const name = z.string().min(1, "must not be empty")

/** Names that differ from those of the adapter's documentation. */
const mappingForm = z.strictObject({
  /** The table of each kind of thing. */
  tables: z.strictObject(Object.fromEntries(bulkNames.map((table) => [table, name.optional()]))).default({}),
  /** For each kind of thing, the columns of properties of the contract, by the names of these. */
  columns: z
    .strictObject(
      Object.fromEntries(
        bulkNames.map((table) => [
          table,
          z
            .strictObject(Object.fromEntries(Object.keys(fields[table]).map((field) => [field, name.optional()])))
            .optional(),
        ]),
      ),
    )
    .default({}),
  /** For each kind of thing, columns that are left behind. */
  ignore: z.strictObject(Object.fromEntries(bulkNames.map((table) => [table, z.array(name).optional()]))).default({}),
  /** What dates without a time zone are in. */
  timezone: z
    .string()
    .regex(/^([+-]\d\d:\d\d|Z)$/, "must be an offset, such as +02:00")
    .default("Z"),
})

export type Mapping = z.output<typeof mappingForm>

/** What holds without a file. */
export const noMapping: Mapping = mappingForm.parse({})

/** Reads a mapping file. Throws StartError that names the path in it and the rule. */
export function readMapping(file: string): Mapping {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "it is not JSON"
    throw new StartError(`--mapping: cannot read ${file} (${code})`, { cause: error })
  }
  const { data, error } = mappingForm.safeParse(json)
  if (data !== undefined) return data
  const [issue] = error.issues
  throw new StartError(`--mapping: ${[...(issue?.path ?? [])].join(".") || "the file"}: ${issue?.message}`)
}
