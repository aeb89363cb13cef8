import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf"
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt"
import { type CommandOutput, table } from "../commands/output.js"

/** The most rows that one call asks for. */
export const maxPageSize = 1_000

/** A page of a list. */
interface Page<Item> {
  items: readonly Item[]
  nextPageToken: string
}

export interface ListingOptions<Desc extends DescMessage> {
  schema: Desc
  /** Reads a page. */
  read: (page: { pageSize: number; pageToken: string }) => Promise<Page<MessageShape<Desc>>>
  /** The columns of the table: their headings, and how they are shown. */
  columns: Readonly<Record<string, (item: MessageShape<Desc>) => string>>
  /** Counts all items, which is said if there are more than those that are printed. Default: nobody knows how many. */
  count?: () => Promise<number>
}

/** Prints the first items of a list: as lines of JSON page by page, or as one table. Says if there are more. */
export async function printList<Desc extends DescMessage>(
  { limit, json }: { limit: number; json: boolean },
  { print, say }: CommandOutput,
  { schema, read, columns, count: countAll }: ListingOptions<Desc>,
): Promise<void> {
  const rows: string[][] = []
  let count = 0
  let pageToken = ""
  do {
    const page = await read({ pageSize: Math.min(limit - count, maxPageSize), pageToken })
    for (const item of page.items) {
      if (json) await print(`${jsonOf(schema, item)}\n`)
      else rows.push(Object.values(columns).map((show) => show(item)))
    }
    count += page.items.length
    pageToken = page.nextPageToken
  } while (pageToken !== "" && count < limit)
  if (rows.length > 0) await print(table(Object.keys(columns), rows))
  if (count === 0) say("found nothing\n")
  if (pageToken !== "") {
    const more = countAll === undefined ? `there are more than ${count}` : `${count} of ${await countAll()}`
    say(`${more}: use a higher --limit\n`)
  } else if (countAll !== undefined && count > 0) say(`${count} in all\n`)
}

/** Returns a message as JSON in one line. */
export function jsonOf<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  return JSON.stringify(toJson(schema, message))
}

/** Returns a time as a table shows it; empty without one. */
export function timeOf(timestamp: Timestamp | undefined): string {
  return timestamp === undefined
    ? ""
    : timestampDate(timestamp)
        .toISOString()
        .replace(/\.\d+Z$/, "Z")
}
