import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useContext, useEffect, useRef, useState } from "preact/hooks"
import { apiKeys, explain } from "../client.ts"
import { Access } from "../permissions.ts"

const dayMs = 86_400_000

/** Creates an API key with scopes that the console's own key has, and shows it once. */
export function NewKey({ close, onDone }: { close: () => void; onDone: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { scopes } = useContext(Access)
  const [name, setName] = useState("")
  const [days, setDays] = useState("")
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [error, setError] = useState("")
  const [isRunning, setRunning] = useState(false)
  const [made, setMade] = useState<string>()
  useEffect(() => dialog.current?.showModal(), [])
  const create = async (event: Event) => {
    event.preventDefault()
    if (isRunning) return
    setRunning(true)
    try {
      const { key } = await apiKeys.createApiKey({
        name,
        scopes: [...chosen],
        ...(days !== "" && { expireTime: timestampFromMs(Date.now() + Number(days) * dayMs) }),
      })
      setMade(key)
      onDone()
    } catch (thrown) {
      setError(explain(thrown))
      setRunning(false)
    }
  }
  if (made !== undefined) return <MadeKey text={made} close={close} />
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="key-title">
      <form onSubmit={create}>
        <h2 id="key-title">Create a key</h2>
        <label>
          Name
          <input
            value={name}
            required
            maxLength={255}
            onInput={(event) => setName(event.currentTarget.value)}
            autocomplete="off"
          />
        </label>
        <label>
          For how many days (empty: until it is revoked)
          <input
            type="number"
            min="1"
            max="36500"
            value={days}
            onInput={(event) => setDays(event.currentTarget.value)}
          />
        </label>
        <fieldset>
          <legend>Scopes: what it may do, of what this console's key may</legend>
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

/** The only place where a key is seen. Esc does not close it, so that nobody loses the key by accident. */
function MadeKey({ text, close }: { text: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [copied, setCopied] = useState("")
  useEffect(() => dialog.current?.showModal(), [])
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied("Copied."),
      () => setCopied("The browser does not allow it. Mark the key and copy it."),
    )
  return (
    <dialog ref={dialog} onClose={close} onCancel={(event) => event.preventDefault()} aria-labelledby="made-title">
      <h2 id="made-title">The new key</h2>
      <p>It is shown only now, because the service keeps only a hash of it. Keep it like a password.</p>
      <pre class="difference">{text}</pre>
      <p class="buttons">
        <button type="button" onClick={copy}>
          Copy
        </button>
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Done
        </button>
        <span role="status">{copied}</span>
      </p>
    </dialog>
  )
}
