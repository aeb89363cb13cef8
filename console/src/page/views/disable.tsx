import type { User } from "@authwire/proto"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain, users } from "../client.ts"
import { notify } from "../parts/feedback.tsx"
import { useCan } from "../permissions.ts"
import { counted } from "../text.ts"

const dayMs = 86_400_000

/** Disables a user, for a time or until further notice, or enables the user again. */
export function Disable({ user, onDone }: { user: User; onDone: () => void }) {
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState("")
  if (!can("users:disable")) return null
  const enable = () =>
    users.enableUser({ id: user.id }).then(
      () => {
        notify("The user is enabled, and can sign in again.")
        onDone()
      },
      (thrown) => setError(explain(thrown)),
    )
  return (
    <>
      {user.disabled ? (
        <button type="button" onClick={enable}>
          Enable
        </button>
      ) : (
        <button type="button" class="dangerous" onClick={() => setAsking(true)}>
          Disable
        </button>
      )}
      {error !== "" && <p role="alert">{error}</p>}
      {isAsking && <DisableDialog id={user.id} close={() => setAsking(false)} onDone={onDone} />}
    </>
  )
}

function DisableDialog({ id, close, onDone }: { id: string; close: () => void; onDone: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [reason, setReason] = useState("")
  const [days, setDays] = useState("")
  const [error, setError] = useState("")
  useEffect(() => dialog.current?.showModal(), [])
  const disable = async (event: Event) => {
    event.preventDefault()
    try {
      const { revokedSessions } = await users.disableUser({
        id,
        ...(reason !== "" && { reason }),
        ...(days !== "" && { endTime: timestampFromMs(Date.now() + Number(days) * dayMs) }),
      })
      notify(`The user is disabled, and signed out of ${counted(revokedSessions, "session")}.`)
      close()
      onDone()
    } catch (thrown) {
      setError(explain(thrown))
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="disable-title">
      <form onSubmit={disable}>
        <h2 id="disable-title">Disable this user?</h2>
        <p>All sessions of the user end, and the user cannot sign in.</p>
        <label>
          Reason, for operators
          <input value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        <label>
          For how many days (empty: until somebody enables the user)
          <input
            type="number"
            min="1"
            max="36500"
            value={days}
            onInput={(event) => setDays(event.currentTarget.value)}
          />
        </label>
        {error !== "" && <p role="alert">{error}</p>}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="dangerous">
            Disable
          </button>
        </p>
      </form>
    </dialog>
  )
}
