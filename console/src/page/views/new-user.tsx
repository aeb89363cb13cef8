import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain, users } from "../client.ts"
import { notify } from "../parts/feedback.tsx"

/** Creates a user. `onDone` gets the id that the service has given. */
export function NewUser({ close, onDone }: { close: () => void; onDone: (id: string) => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  // If the response of an attempt is lost, the next one with the same input returns the user that was created.
  const attempt = useRef(crypto.randomUUID())
  const [opened] = useState(() => Date.now())
  const [email, setEmail] = useState("")
  const [name, setName] = useState("")
  const [isVerified, setVerified] = useState(false)
  const [error, setError] = useState("")
  const [isRunning, setRunning] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning) return
    setRunning(true)
    try {
      const { user } = await users.createUser(
        {
          email: email.trim(),
          ...(name !== "" && { name }),
          ...(isVerified && { emailVerified: timestampFromMs(opened) }),
        },
        { headers: { "idempotency-key": attempt.current } },
      )
      notify("The user is created.")
      close()
      if (user) onDone(user.id)
    } catch (thrown) {
      setError(explain(thrown))
      setRunning(false)
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="new-user-title">
      <form
        onSubmit={submit}
        onInput={() => {
          attempt.current = crypto.randomUUID()
        }}
      >
        <h2 id="new-user-title">Create a user</h2>
        <label>
          E-mail address
          <input
            type="email"
            value={email}
            required
            maxLength={320}
            onInput={(event) => setEmail(event.currentTarget.value)}
            autocomplete="off"
          />
        </label>
        <label>
          Name
          <input
            value={name}
            maxLength={4096}
            onInput={(event) => setName(event.currentTarget.value)}
            autocomplete="off"
          />
        </label>
        <label>
          <input type="checkbox" checked={isVerified} onChange={(event) => setVerified(event.currentTarget.checked)} />{" "}
          The address is verified
        </label>
        {error !== "" && <p role="alert">{error}</p>}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isRunning}>
            Create
          </button>
        </p>
      </form>
    </dialog>
  )
}
