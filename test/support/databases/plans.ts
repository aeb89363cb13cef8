import { format } from "mysql2"
import type { Database } from "../../../server/src/store/sql/index.js"
import type { Cell, Statement } from "../../../server/src/store/sql/query/statement.js"
import type { DatabaseTarget } from "./databases.js"
import { plainSql } from "./plain-sql.js"

/** A database whose plans are tested. On a `shard` of Vitess the store runs as on a database of its own. */
export type PlannedTarget = DatabaseTarget | "vitess" | "shard"

/** How a statement accesses one table: the access type and the index. */
export interface Access {
  table: unknown
  type: unknown
  key: unknown
}

/** A statement with the cells of its parameters, in the types that the store sends, and the walk that it declares. */
export type Ran = [statement: string, cells: Cell[], along?: Statement<never>["along"]]

/** The execution plans of statements, as reported by the database. */
export interface Plans {
  /** The tables that the statement reads, with the access to each. */
  of(ran: Ran): Promise<Access[]>
  /**
   * Returns how a statement departs from the walk that it declares: it reads the table by another index, the index as a whole, or sorts
   * the rows. Undefined if it follows the walk, or declares none.
   */
  departure(ran: Ran): Promise<string | undefined>
  /** Whether the rows are sorted after they were read. */
  sortsRows(ran: Ran): Promise<boolean>
  /**
   * The plan as one text, as the database writes it.
   *
   * @param how - How PostgreSQL is asked. Default: `EXPLAIN`.
   */
  text(ran: Ran, how?: string): Promise<string>
  /**
   * Runs a SELECT, and returns the number of index entries or rows that the database examined for it. Undefined on SQLite, which
   * does not report it.
   */
  rowsExamined(ran: Ran): Promise<number | undefined>
}

export function plansOf(target: PlannedTarget, database: Database): Plans {
  const isVitess = target === "vitess" || target === "shard"
  const run = (statement: string, cells: Cell[] = []) => database.reads({}).read(plainSql(statement), cells)

  /** Runs EXPLAIN on MySQL. Vitess has none with parameters, and must send the statement to one shard. */
  async function explainedByMysql(statement: string, cells: Cell[]): Promise<unknown[][]> {
    const explain = "EXPLAIN FORMAT=TRADITIONAL"
    if (!isVitess) return run(`${explain} ${statement}`, cells)
    const whole = format(statement, cells as never, false, "Z")
    return database.withQueryRunner(async (runner) => {
      const [{ JSON: route }] = await runner.query(`VEXPLAIN PLAN ${whole}`)
      const { Inputs, TargetDestination, Variant } = JSON.parse(route)
      const isOne = Inputs === undefined && /^Shard\([^,]+\)$|^Unsharded$/.test(TargetDestination ?? Variant)
      if (!isOne) throw new Error(`not to one shard: ${route}`)
      const rows: object[] = await runner.query(`${explain} ${whole}`)
      return rows.map((row) => Object.values(row))
    })
  }

  async function planOf([statement, cells]: Ran): Promise<Access[]> {
    if (target === "mysql" || isVitess) {
      const rows = await explainedByMysql(statement, cells)
      return rows.map(([, , table, , type, , key]) => ({ table, type, key }))
    }
    if (target === "postgres") return postgresPlan(statement, cells)
    if (target === "mariadb") {
      const rows = await run(`EXPLAIN ${statement}`, cells)
      return rows.map(([, , table, type, , key]) => ({ table, type, key }))
    }
    const rows = await run(`EXPLAIN QUERY PLAN ${statement}`, cells)
    // For example "SEARCH u USING INDEX users_email_key (email_key=?)".
    const words = rows.map(([, , , detail]) => String(detail).replace("COVERING ", "").split(" "))
    return words
      .filter(([type]) => type === "SEARCH" || type === "SCAN")
      .map(([type, table, , , key]) => ({
        table,
        type: type === "SEARCH" ? "const" : "ALL",
        key: key?.startsWith("sqlite_autoindex") ? "PRIMARY" : key,
      }))
  }

  /** Returns the generic plan of a prepared statement on PostgreSQL, which is independent of parameter values. */
  async function explained(explain: string, statement: string, cells: Cell[]) {
    const literal = (cell: Cell) => {
      if (cell === null) return "NULL"
      if (Buffer.isBuffer(cell)) return `'\\x${cell.toString("hex")}'`
      return `'${(cell instanceof Date ? cell.toISOString() : String(cell)).replaceAll("'", "''")}'`
    }
    await run(`PREPARE explained AS ${statement}`)
    const values = cells.length === 0 ? "" : `(${cells.map(literal).join(", ")})`
    const rows = await run(`${explain} EXECUTE explained${values}`)
    await run("DEALLOCATE explained")
    return rows
  }

  /** A plan node that modifies a table has the node that finds its rows below it. */
  async function postgresPlan(statement: string, cells: Cell[]): Promise<Access[]> {
    interface Node {
      "Node Type": string
      Alias?: string
      "Index Name"?: string
      "Index Cond"?: string
      Plans?: Node[]
    }
    const [[found] = []] = await explained("EXPLAIN (FORMAT JSON)", statement, cells)
    const root = (found as unknown as [{ Plan: Node }])[0].Plan
    const accesses: Access[] = []
    const visit = (node: Node): void => {
      const { "Node Type": type, "Index Name": index, "Index Cond": condition, Alias: table } = node
      const key = index?.endsWith("_pkey") ? "PRIMARY" : index
      if (type === "Seq Scan") accesses.push({ table, type: "ALL", key: null })
      else if (type === "Bitmap Heap Scan") accesses.push({ table, type: "range", key: bitmapIndex(node) })
      else if (index !== undefined) {
        accesses.push({
          table,
          type: condition === undefined ? "index" : / = ANY /.test(condition) ? "range" : "const",
          key,
        })
      }
      if (type !== "Bitmap Heap Scan") for (const one of node.Plans ?? []) visit(one)
    }
    const bitmapIndex = (node: Node): string | undefined =>
      node["Index Name"]?.replace(/^.*_pkey$/, "PRIMARY") ?? node.Plans?.map(bitmapIndex)[0]
    visit(root)
    return accesses
  }

  async function text([statement, cells]: Ran, how = "EXPLAIN"): Promise<string> {
    if (target === "postgres") return String(await explained(how, statement, cells))
    if (target === "mysql" || isVitess) return String(await explainedByMysql(statement, cells))
    return String(await run(`${target === "mariadb" ? "EXPLAIN" : "EXPLAIN QUERY PLAN"} ${statement}`, cells))
  }

  async function rowsExamined([statement, cells]: Ran): Promise<number | undefined> {
    if (target === "sqlite") return undefined
    if (target === "postgres") {
      const plan = await text([statement, cells], "EXPLAIN (ANALYZE, TIMING OFF)")
      const counts = [...plan.matchAll(/actual rows=(\d+)|Rows Removed by [\w ]+: (\d+)/g)]
      return Math.max(...counts.map(([, rows, removed]) => Number(rows ?? removed)))
    }
    // All on one connection, because the server counts by session.
    return database.write({}, [], async (sql) => {
      const read = async () => {
        const reads = await sql.read(plainSql("SHOW SESSION STATUS LIKE 'Handler_read_%'"), [])
        const counted = reads.filter(([name]) => /_(first|key|last|next|prev|rnd_next)$/.test(String(name)))
        return counted.reduce((sum, [, count]) => sum + Number(count), 0)
      }
      // The second statement does not count what the first one reads of its own table.
      const [first, second] = [await read(), await read()]
      await sql.read(plainSql(statement), cells)
      return (await read()) - second - (second - first)
    })
  }

  const sortsRows = async (ran: Ran) => /filesort|TEMP B-TREE|\bSort\b/i.test(await text(ran))

  return {
    of: planOf,
    async departure(ran) {
      const [, , along] = ran
      if (along === undefined) return undefined
      const accesses = await planOf(ran)
      const access = accesses.find(({ table }) => table === along.alias)
      const isAlong = access?.key === along.walk.index && !/^(ALL|index)$/.test(String(access.type))
      if (isAlong && !(await sortsRows(ran))) return undefined
      return `not along ${along.walk.index}: ${await text(ran)}\n${ran[0]}`
    },
    text,
    rowsExamined,
    sortsRows,
  }
}
