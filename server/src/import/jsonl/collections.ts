import { readdirSync } from "node:fs"
import { join } from "node:path"
import { orStartError, StartError } from "../../errors/start-error.js"
import type { Source } from "../peer/source.js"
import { extendedValue } from "./extended-json.js"
import { linesOf, type Place, start } from "./lines.js"

/** The size in bytes after which a page ends. */
const maxPageBytes = 8 * 1024 * 1024

/** The maximum number of different properties in a file. */
const maxColumns = 1000

/**
 * Opens a folder with a file of JSON lines for each table, `users.json` or `users.jsonl`: what `mongoexport` writes. Values
 * may be Extended JSON. Throws StartError.
 */
export function collectionsSource(folder: string): Source {
  const paths = new Map<string, string>()
  for (const file of orStartError(`--url: cannot read the folder ${folder}`, () => readdirSync(folder)).sort()) {
    const name = /^(.+)\.(json|jsonl|ndjson)$/.exec(file)?.[1]
    if (name === undefined) continue
    if (paths.has(name)) throw new StartError(`--url: ${folder} has several files for ${name}`)
    paths.set(name, join(folder, file))
  }
  const pathOf = (table: string) => paths.get(table) ?? join(folder, table)
  const counts = new Map<string, number>()

  return {
    tables: async () => [...paths.keys()],

    async describe(name) {
      const properties = new Set<string>()
      let count = 0
      for await (const { object } of linesOf(pathOf(name))) {
        count++
        for (const property of Object.keys(object)) properties.add(property)
        if (properties.size > maxColumns)
          throw new StartError(`--url: ${pathOf(name)} has more than ${maxColumns} properties`)
      }
      counts.set(name, count)
      // The adapter of MongoDB calls it so, too.
      if (properties.has("_id") && !properties.has("id")) {
        properties.delete("_id")
        properties.add("id")
      }
      const columns = [...properties].map((column) => ({ name: column, type: "", maxLength: undefined, folds: false }))
      return { name, columns, key: ["line", "byte"] }
    },

    count: async (name) => counts.get(name) ?? 0,
    isUnique: async () => false,

    async page({ name, columns }, after = [start.line, start.byte], limit) {
      const [line, byte] = after as [number, number]
      const rows: unknown[][] = []
      let [bytes, isLast] = [0, true]
      for await (const { object, size, ...end } of linesOf(pathOf(name), { line, byte } satisfies Place)) {
        const cells = columns.map((column) => {
          // An absent property stays undefined: it is not null.
          const given = column.name === "id" && !Object.hasOwn(object, "id") ? "_id" : column.name
          return Object.hasOwn(object, given) ? extendedValue(object[given]) : undefined
        })
        rows.push([...cells, end.line, end.byte])
        bytes += size
        if (rows.length < limit && bytes < maxPageBytes) continue
        isLast = false
        break
      }
      return { rows, isLast }
    },

    close: async () => {},
  }
}
