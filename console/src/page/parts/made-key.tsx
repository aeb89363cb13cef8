import { useEffect, useRef, useState } from "preact/hooks"

/** The only place where a new key is seen. Esc does not close it, so that nobody loses the key by accident. */
export function MadeKey({ text, close }: { text: string; close: () => void }) {
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
