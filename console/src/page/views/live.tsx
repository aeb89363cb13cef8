import { type Event, EventKind } from "@authwire/proto"
import { useEffect, useRef, useState } from "preact/hooks"
import { events } from "../client.ts"
import { useNames } from "../names.ts"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Moment } from "../parts/time.tsx"
import { UserLink } from "../parts/user-link.tsx"
import { plain } from "../text.ts"

/** The number of events that stay on the page. */
const kept = 200

/** The kinds of events that this console knows. */
export const kinds = Object.values(EventKind).filter(
  (kind): kind is EventKind => typeof kind === "number" && kind !== 0,
)
export const kindName = (kind: EventKind) => (EventKind[kind] ?? String(kind)).toLowerCase().replaceAll("_", " ")

interface Seen {
  cursor: string
  event: Event
}

/** The events of the tenant, the newest first, as they are committed. A pause keeps the place, so that nothing is missed. */
export function Live() {
  const [kind, setKind] = useState(0)
  const [isPaused, setPaused] = useState(false)
  const [seen, setSeen] = useState<readonly Seen[]>([])
  const [error, setError] = useState<unknown>()
  const cursor = useRef("")
  useEffect(() => {
    if (isPaused) return
    const abort = new AbortController()
    const watch = async () => {
      for (let failures = 0; !abort.signal.aborted; failures += 1) {
        try {
          const request = { startCursor: cursor.current, kinds: kind === 0 ? [] : [kind] }
          for await (const answer of events.watch(request, { signal: abort.signal, timeoutMs: 0 })) {
            failures = 0
            setError(undefined)
            cursor.current = answer.cursor
            const { event } = answer
            if (event) setSeen((before) => [{ cursor: answer.cursor, event }, ...before].slice(0, kept))
          }
        } catch (thrown) {
          if (abort.signal.aborted) return
          setError(thrown)
        }
        await new Promise((resolve) => setTimeout(resolve, Math.min(1000 * 2 ** failures, 30_000)))
      }
    }
    void watch()
    return () => abort.abort()
  }, [kind, isPaused])
  const nameOf = useNames(seen.map(({ event: { userId = "" } }) => userId))
  const columns: Column<Seen>[] = [
    { name: "Time", cell: ({ event }) => <Moment at={event.createTime} /> },
    { name: "Event", cell: ({ event }) => kindName(event.kind) },
    {
      name: "User",
      cell: ({ event: { userId } }) => userId !== undefined && <UserLink id={userId} name={nameOf(userId)} />,
    },
    { name: "Provider", cell: ({ event }) => plain(event.provider ?? "") },
  ]
  return (
    <>
      <h1 tabIndex={-1}>Live</h1>
      <p class="buttons">
        <label>
          Kind{" "}
          <select value={kind} onChange={(change) => setKind(Number(change.currentTarget.value))}>
            <option value={0}>all</option>
            {kinds.map((one) => (
              <option key={one} value={one}>
                {kindName(one)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </button>
        <button type="button" onClick={() => setSeen([])}>
          Clear
        </button>
      </p>
      {error !== undefined && <Failed error={error} />}
      {seen.length === 0 && (
        <Nothing>{isPaused ? "Paused." : "Waiting for events. Each write of the service appears here."}</Nothing>
      )}
      {seen.length > 0 && <Table columns={columns} rows={seen} keyOf={({ cursor }) => cursor} />}
    </>
  )
}
