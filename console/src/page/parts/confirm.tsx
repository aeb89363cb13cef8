import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain } from "../client.ts"
import { notify } from "./feedback.tsx"

/** An action that is confirmed before it is done. */
export interface Action {
  title: string
  /** The text of the button. */
  label: string
  isDangerous?: boolean
  about: ComponentChildren
  /** What has to be typed before. Default: nothing. */
  typed?: string
  /** Does it, and returns what it has done. */
  run: () => Promise<string>
  /** Called after it is done. Default: nothing. */
  onDone?: () => void
}

/** What each part of the page about a user gets. */
export interface PartProps {
  userId: string
  /** The number of actions that were done on the page, after each of which its lists are read again. */
  changes: number
  /** Asks before an action is done. */
  ask: (action: Action) => void
}

/** The dialog of an action. Esc and Cancel leave everything as it is. */
export function Confirm({ action, close }: { action: Action; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState("")
  const [error, setError] = useState<unknown>()
  const [isRunning, setRunning] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const isAllowed = action.typed === undefined || typed === action.typed
  const run = async (event: Event) => {
    event.preventDefault()
    if (!isAllowed || isRunning) return
    setRunning(true)
    try {
      notify(await action.run())
      close()
      action.onDone?.()
    } catch (thrown) {
      setError(thrown)
      setRunning(false)
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <form onSubmit={run}>
        <h2 id="confirm-title">{action.title}</h2>
        {action.about}
        {action.typed !== undefined && (
          <label>
            Type <code>{action.typed}</code> to confirm
            <input
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
        )}
        {error !== undefined && <p role="alert">{explain(error)}</p>}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={action.isDangerous ? "dangerous" : "primary"} disabled={!isAllowed || isRunning}>
            {action.label}
          </button>
        </p>
      </form>
    </dialog>
  )
}
