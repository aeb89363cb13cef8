import type { ComponentChildren, Ref } from "preact"

/** A column of a table. The first one is the title of a row. */
export interface Column<Row> {
  name: string
  cell: (row: Row) => ComponentChildren
  class?: string
  /** Whether the name is only for screen readers, because the cells explain themselves: buttons. */
  isUnnamed?: boolean
}

/** A table. On a phone each row is a card, with the names of the columns before its values. */
export function Table<Row>(props: {
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row, index: number) => string | number
  isMuted?: (row: Row) => boolean
  isBusy?: boolean
  body?: Ref<HTMLTableSectionElement>
}) {
  const { columns, rows, keyOf, isMuted, isBusy, body } = props
  return (
    <table aria-busy={isBusy}>
      <thead>
        <tr>
          {columns.map(({ name, isUnnamed }) => (
            <th key={name} scope="col">
              <span class={isUnnamed ? "hidden" : ""}>{name}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body ?? null}>
        {rows.map((row, index) => (
          <tr key={keyOf(row, index)} class={isMuted?.(row) ? "muted" : ""}>
            {columns.map((column, position) => (
              <td
                key={column.name}
                class={column.class}
                data-label={position === 0 || column.isUnnamed ? undefined : column.name}
              >
                <div>{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
