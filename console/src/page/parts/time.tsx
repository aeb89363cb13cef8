import type { Timestamp } from "@bufbuild/protobuf/wkt"
import { ago, exact, moment } from "../text.ts"

/** How long ago a moment was; the exact moment is shown on hover. */
export function Time({ at, never = "never" }: { at: Timestamp | undefined; never?: string }) {
  if (at === undefined) return <span class="muted">{never}</span>
  return (
    <time dateTime={exact(at)} title={`${moment(at)} (${exact(at)})`}>
      {ago(at)}
    </time>
  )
}
