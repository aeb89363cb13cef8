import type { ListedUser, User } from "../../types.js"
import type { Database } from "../database.js"
import type { Cell, Statement } from "../query/statement.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import { disabledColumns, type UserRow } from "../schema/rows.js"

/** Reads users together with whether they are disabled, which the columns of the table do not tell. */
export interface UserReader {
  /** Returns the columns that `user` expects, in their order. */
  columns(alias: string): string
  /** The number of these columns. */
  readonly width: number
  /** Converts the first cells. */
  user(cells: Cell[]): User
  /** Returns the columns that `listed` expects: the others, then when the row was created and last written. */
  listedColumns(alias: string): string
  listed(cells: Cell[]): ListedUser
  first(rows: Cell[][]): User | null
  /** Selects and locks a user, like `Table.byKeyForUpdate`. */
  readonly byKeyForUpdate: Statement<Pick<UserRow, "tenant" | "id">>
}

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. It decides which users are no longer disabled. */
export function userReader({ tables: { users } }: Pick<Database, "tables">, clock: () => number): UserReader {
  const user = (cells: Cell[]): User => {
    const found = users.row(cells)
    const since = cells[users.width]
    if (since == null) return found
    const cellOf = (index: number) => cells[users.width + index] as Cell
    const until = users.value("disabledUntil", cellOf(1))
    if (until !== undefined && until.getTime() <= clock()) return found
    const reason = users.value("disabledReason", cellOf(2))
    return { ...found, disabled: { since: users.value("disabledSince", since) as Date, until, reason } }
  }
  const columns = (alias: string) =>
    [users.columns(alias), ...disabledColumns.map((name) => `${alias}.${name}`)].join(", ")
  const width = users.width + disabledColumns.length
  return {
    columns,
    width,
    user,
    listedColumns: (alias) => columnsWithTimes({ columns }, alias),
    listed: (cells) => ({ ...user(cells), ...timesOf(users, cells, width) }),
    first: ([cells]) => (cells === undefined ? null : user(cells)),
    byKeyForUpdate: users.withColumnsForUpdate(disabledColumns.map((name) => `u.${name}`)),
  }
}
