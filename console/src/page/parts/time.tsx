import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { type ComponentChildren, createContext } from "preact"
import { useContext, useEffect, useState } from "preact/hooks"
import { ago, exact, moment } from "../text.ts"

const Now = createContext(0)

/** Gives the times below it the present, in milliseconds since 1970, every second. Only they are rendered again. */
export function Clock({ children }: { children: ComponentChildren }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return <Now.Provider value={now}>{children}</Now.Provider>
}

/** How long ago a moment was; the exact moment is shown on hover. */
export function Time({ at, never = "never" }: { at: Timestamp | undefined; never?: string }) {
  const now = useContext(Now)
  if (at === undefined) return <span class="muted">{never}</span>
  return (
    <time dateTime={exact(at)} title={`${moment(at)} (${exact(at)})`}>
      {ago(at, now)}
    </time>
  )
}

/** A moment to the second, for what is compared with other moments. */
export function Moment({ at }: { at: Timestamp | undefined }) {
  if (at === undefined) return null
  return (
    <time dateTime={exact(at)} title={exact(at)}>
      {moment(at)}
    </time>
  )
}
