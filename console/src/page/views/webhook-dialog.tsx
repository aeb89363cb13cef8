import type { EventKind, Webhook } from "@authwire/proto"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain, webhooks } from "../client.ts"
import { notify } from "../parts/feedback.tsx"
import { TextField } from "../parts/key-dialog.tsx"
import { MadeSecret } from "../parts/made-secret.tsx"
import { useCan } from "../permissions.ts"
import { kinds as allKinds, kindName } from "./live.tsx"

/** Creates a webhook, whose secret is shown once, or changes the given one. */
export function WebhookDialog(props: { webhook?: Webhook; close: () => void; onDone: () => void }) {
  const { close, onDone } = props
  const can = useCan()
  const dialog = useRef<HTMLDialogElement>(null)
  // If the response of an attempt is lost, the next one with the same input returns the webhook that was made, with its secret.
  const attempt = useRef(crypto.randomUUID())
  // As it was when the dialog opened, also if the page reads it again.
  const [webhook] = useState(props.webhook)
  const [name, setName] = useState(webhook?.name ?? "")
  const [url, setUrl] = useState(webhook?.url ?? "")
  const [kinds, setKinds] = useState<readonly EventKind[]>(webhook?.kinds ?? [])
  const [includeUser, setIncludeUser] = useState(webhook?.includeUser ?? false)
  const [error, setError] = useState("")
  const [isRunning, setRunning] = useState(false)
  const [secret, setSecret] = useState<string>()
  useEffect(() => dialog.current?.showModal(), [])
  const changed = {
    name: name !== webhook?.name,
    url: url !== webhook?.url,
    kinds: !isSame(kinds, webhook?.kinds ?? []),
    include_user: includeUser !== (webhook?.includeUser ?? false),
  }
  const paths = Object.entries(changed).flatMap(([path, isChanged]) => (isChanged ? [path] : []))
  const isAllowed = paths.length > 0 && !isRunning
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!isAllowed) return
    setRunning(true)
    const fields = { name, url, kinds: [...kinds], includeUser }
    const options = { headers: { "idempotency-key": attempt.current } }
    try {
      if (webhook === undefined) {
        setSecret((await webhooks.createWebhook(fields, options)).secret)
      } else {
        await webhooks.updateWebhook({ id: webhook.id, ...fields, updateMask: { paths } }, options)
        notify("Saved the webhook.")
        close()
      }
      onDone()
    } catch (thrown) {
      setError(explain(thrown))
      setRunning(false)
    }
  }
  if (secret !== undefined) return <MadeWebhookSecret text={secret} close={close} />
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="webhook-title">
      <form
        onSubmit={submit}
        onInput={() => {
          attempt.current = crypto.randomUUID()
        }}
      >
        <h2 id="webhook-title">{webhook === undefined ? "Create a webhook" : "Edit the webhook"}</h2>
        <TextField label="Name" value={name} maxLength={255} onInput={setName} />
        <TextField label="Address: https://" value={url} maxLength={2048} onInput={setUrl} />
        <fieldset>
          <legend>Events that are sent (none chosen: all)</legend>
          <div class="choices">
            {allKinds.map((kind) => (
              <label key={kind}>
                <input
                  type="checkbox"
                  checked={kinds.includes(kind)}
                  onChange={({ currentTarget: { checked } }) =>
                    setKinds(checked ? [...kinds, kind] : kinds.filter((one) => one !== kind))
                  }
                />{" "}
                {kindName(kind)}
              </label>
            ))}
          </div>
        </fieldset>
        {(can("users:read") || includeUser) && (
          <label>
            <input
              type="checkbox"
              checked={includeUser}
              onChange={({ currentTarget: { checked } }) => setIncludeUser(checked)}
            />{" "}
            Send the user too, as it is then
          </label>
        )}
        {error !== "" && <p role="alert">{error}</p>}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isAllowed}>
            {webhook === undefined ? "Create" : "Save"}
          </button>
        </p>
      </form>
    </dialog>
  )
}

/** Shows a new secret of a webhook, once. */
export function MadeWebhookSecret({ text, close }: { text: string; close: () => void }) {
  const about = "It is shown only now. The receiver verifies deliveries with it. Keep it like a password."
  return <MadeSecret title="The new secret" about={about} text={text} close={close} />
}

const isSame = (one: readonly EventKind[], other: readonly EventKind[]) =>
  one.length === other.length && one.every((kind) => other.includes(kind))
