import type { ComponentChildren } from "preact"
import { useEffect, useState } from "preact/hooks"
import { explain } from "../client.ts"

/** Says why there is nothing to show. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>{explain(error)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="nothing">{children}</p>
}

let show: (text: string) => void = () => {}

/** Says what an action has done. */
export function notify(text: string): void {
  show(text)
}

/** Where notices appear. Each stays for ten seconds. */
export function Notices() {
  const [text, setText] = useState("")
  show = setText
  useEffect(() => {
    if (text === "") return
    const timer = setTimeout(() => setText(""), 10_000)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div class="notices" role="status">
      {text}
    </div>
  )
}
