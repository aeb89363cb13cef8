import type { CallOptions } from "@connectrpc/connect"
import type { ComponentChildren } from "preact"
import { useContext, useEffect, useRef, useState } from "preact/hooks"
import { explain } from "../client.ts"
import { Access } from "../permissions.ts"
import { MadeSecret } from "./made-secret.tsx"

/** A dialog that creates an API key with scopes that the console's own key has, and shows the key once. */
export function KeyDialog(props: {
  title: string
  /** The fields of the form, apart from the scopes. */
  children: ComponentChildren
  /** Creates the key, and returns its text. */
  create: (scopes: string[], options: CallOptions) => Promise<string>
  close: () => void
  onDone: () => void
}) {
  const { title, children, create, close, onDone } = props
  const dialog = useRef<HTMLDialogElement>(null)
  // If the response of an attempt is lost, the next one with the same input returns the key that was made.
  const attempt = useRef(crypto.randomUUID())
  const { scopes, presets } = useContext(Access)
  const possible = presets.filter((preset) => preset.scopes.every((scope) => scopes.includes(scope)))
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [error, setError] = useState("")
  const [isRunning, setRunning] = useState(false)
  const [made, setMade] = useState<string>()
  useEffect(() => dialog.current?.showModal(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning) return
    setRunning(true)
    try {
      setMade(await create([...chosen], { headers: { "idempotency-key": attempt.current } }))
      onDone()
    } catch (thrown) {
      setError(explain(thrown))
      setRunning(false)
    }
  }
  if (made !== undefined) {
    const about = "It is shown only now, because the service keeps only a hash of it. Keep it like a password."
    return <MadeSecret title="The new key" about={about} text={made} close={close} />
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="key-title">
      <form
        onSubmit={submit}
        onInput={() => {
          attempt.current = crypto.randomUUID()
        }}
      >
        <h2 id="key-title">{title}</h2>
        {children}
        {possible.length > 0 && (
          <fieldset>
            <legend>Presets of scopes</legend>
            {possible.map((preset) => (
              <label key={preset.name}>
                <input
                  type="radio"
                  name="preset"
                  checked={isSame(preset.scopes, chosen)}
                  onChange={() => setChosen(preset.scopes)}
                />{" "}
                <b>{preset.name}</b>: {preset.description}
              </label>
            ))}
          </fieldset>
        )}
        <fieldset>
          <legend>Scopes: what the key may do, of what this console's key may</legend>
          <div class="choices">
            {scopes.map((scope) => (
              <label key={scope}>
                <input
                  type="checkbox"
                  checked={chosen.includes(scope)}
                  onChange={({ currentTarget: { checked } }) =>
                    setChosen(checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
                  }
                />{" "}
                {scope}
              </label>
            ))}
          </div>
        </fieldset>
        {error !== "" && <p role="alert">{error}</p>}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={chosen.length === 0 || isRunning}>
            Create
          </button>
        </p>
      </form>
    </dialog>
  )
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((scope) => other.includes(scope))

/** A field of text in such a dialog, which has to be filled in. */
export function TextField(props: {
  label: string
  value: string
  maxLength: number
  pattern?: string
  onInput: (value: string) => void
}) {
  const { label, value, maxLength, pattern, onInput } = props
  return (
    <label>
      {label}
      <input
        value={value}
        required
        maxLength={maxLength}
        pattern={pattern}
        onInput={(event) => onInput(event.currentTarget.value)}
        autocomplete="off"
      />
    </label>
  )
}
