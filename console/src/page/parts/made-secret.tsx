import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

/** The only place where a new secret is seen. Esc does not close it, so that nobody loses the secret by accident. */
export function MadeSecret(props: { title: string; about: ComponentChildren; text: string; close: () => void }) {
  const { title, about, text, close } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const [copied, setCopied] = useState("")
  useEffect(() => dialog.current?.showModal(), [])
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied("Copied."),
      () => setCopied("The browser does not allow it. Mark the text and copy it."),
    )
  return (
    <dialog ref={dialog} onClose={close} onCancel={(event) => event.preventDefault()} aria-labelledby="made-title">
      <h2 id="made-title">{title}</h2>
      <p>{about}</p>
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
