import type { AuditEntry } from "../store/types.js"

/** Entries of one tenant that wait, those that wait longest first. */
export interface EntryLine {
  readonly size: number
  add(entry: AuditEntry): void
  /** Removes the first entries, at most this many. */
  take(most: number): AuditEntry[]
  /** Puts entries that were taken at the front again. */
  putBack(entries: readonly AuditEntry[]): void
  /** Removes the newest entry of the key and method that have the most, and returns it, so that no key hides what others do. */
  drop(): AuditEntry | undefined
}

export function entryLine(): EntryLine {
  const entries: AuditEntry[] = []
  /** The number of entries of each key and method. */
  const counts = new Map<string, number>()
  const about = ({ keyId, method }: AuditEntry) => `${keyId ?? ""} ${method}`

  function adjust(entry: AuditEntry, by: 1 | -1): void {
    const of = about(entry)
    const count = (counts.get(of) ?? 0) + by
    if (count === 0) counts.delete(of)
    else counts.set(of, count)
  }

  return {
    get size() {
      return entries.length
    },
    add(entry) {
      entries.push(entry)
      adjust(entry, 1)
    },
    take(most) {
      const taken = entries.splice(0, most)
      for (const entry of taken) adjust(entry, -1)
      return taken
    },
    putBack(taken) {
      entries.unshift(...taken)
      for (const entry of taken) adjust(entry, 1)
    },
    drop() {
      let [most, mostOf] = [0, ""]
      for (const [of, count] of counts) if (count > most) [most, mostOf] = [count, of]
      const [dropped] = entries.splice(
        entries.findLastIndex((entry) => about(entry) === mostOf),
        1,
      )
      if (dropped !== undefined) adjust(dropped, -1)
      return dropped
    },
  }
}
