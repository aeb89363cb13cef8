import type { ObjectLiteral } from "typeorm"
import type { Database } from "../database.js"
import type { Table } from "../schema/table.js"

/**
 * Tells whether anything has changed in the rows of a tenant since somebody looked: how many there are, and 64 bits of the
 * SHA-256 of each, all combined. The database reads the rows and sends none. It finds changes that nobody has planned.
 */
export function fingerprintOf<Row extends ObjectLiteral & { tenant: string }, Key extends keyof Row & string>(
  database: Database,
  table: Table<Row, Key>,
  tenant: string,
): () => Promise<string | undefined> {
  if (database.engine !== "mysql" && database.engine !== "mariadb") return async () => undefined
  const keys = table.key.map((property) => `t.${property}`)
  // HEX, because bytes are no text; of a number it would be that of a whole number, but for CONCAT.
  const cells = [...new Set([...keys, ...table.columns("t").split(", ")])].map(
    (column) => `IFNULL(HEX(CONCAT(${column})), '-')`,
  )
  const digest = `CAST(CONV(LEFT(SHA2(CONCAT_WS(',', ${cells.join(", ")}), 256), 16), 16, 10) AS UNSIGNED)`
  const fingerprint = table.statement(
    table.selectFrom("t").select(`CONCAT(COUNT(*), ' ', BIT_XOR(${digest}))`).where("t.tenant = :tenant"),
    "tenant" as Key,
  )
  return async () => {
    const [cell] = await database.statements({}, (sql) => sql.read(fingerprint, { tenant } as Row))
    return String(cell?.[0])
  }
}
