import type { ObjectLiteral } from "typeorm"
import type { Database } from "../database.js"
import type { Table } from "../schema/table.js"

/**
 * Returns a function that computes a fingerprint of a tenant's rows, to detect changes: the number of rows, and the XOR
 * of 64 bits of the SHA-256 of each row. The database computes it and sends no rows. It detects accidental changes, not
 * deliberate ones. On other engines than MySQL and MariaDB the function returns undefined.
 */
export function fingerprintOf<Row extends ObjectLiteral & { tenant: string }, Key extends keyof Row & string>(
  database: Database,
  table: Table<Row, Key>,
  { tenant, apart }: { tenant: string; apart: readonly (keyof Row & string)[] },
): () => Promise<string | undefined> {
  if (database.engine !== "mysql" && database.engine !== "mariadb") return async () => undefined
  const keys = table.key.map((property) => `t.${property}`)
  // HEX, because bytes are not text. CONCAT, because HEX of a number would convert it to an integer.
  const others = [...table.columns("t").split(", "), ...apart.map((property) => `t.${property}`)]
  const cells = [...new Set([...keys, ...others])].map((column) => `IFNULL(HEX(CONCAT(${column})), '-')`)
  const digest = `CAST(CONV(LEFT(SHA2(CONCAT_WS(',', ${cells.join(", ")}), 256), 16), 16, 10) AS UNSIGNED)`
  const fingerprint = table.statement(
    table.selectFrom("t").select(`CONCAT(COUNT(*), ' ', BIT_XOR(${digest}))`).where("t.tenant = :tenant"),
    "tenant" as Key,
  )
  return async () => {
    const [cell] = await database.reads({}).read(fingerprint, { tenant } as Row)
    return String(cell?.[0])
  }
}
