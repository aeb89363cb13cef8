import type { User } from "@authwire/proto"
import type { JsonObject } from "@bufbuild/protobuf"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain, isStale, users } from "../client.ts"
import { notify } from "../parts/feedback.tsx"
import { Stale } from "../parts/stale.tsx"

/** Changes the name and the extra properties of a user. Shows what changes before it is saved. */
export function Edit({ close, onDone, ...read }: { user: User; close: () => void; onDone: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  // As it was when the dialog opened, also if the page reads it again: the etag belongs to what is shown as before.
  const [user] = useState(read.user)
  const before = { name: user.name ?? "", extra: JSON.stringify(user.extra ?? {}, null, 2) }
  const [name, setName] = useState(before.name)
  const [extra, setExtra] = useState(before.extra)
  const [error, setError] = useState("")
  const [isSaving, setSaving] = useState(false)
  const [isOutdated, setOutdated] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const parsed = objectOf(extra)
  const lines = parsed === undefined ? [] : difference(before, { name, extra: JSON.stringify(parsed, null, 2) })
  const removed = Object.keys(user.extra ?? {}).filter((key) => parsed !== undefined && !(key in parsed))
  const problem =
    parsed === undefined
      ? "extra must be a JSON object."
      : removed.length > 0
        ? `A property cannot be removed: ${removed.join(", ")}. Set it to null instead.`
        : ""
  const isAllowed = problem === "" && lines.length > 0 && !isOutdated
  const save = async (event: Event) => {
    event.preventDefault()
    if (!isAllowed || isSaving || parsed === undefined) return
    setSaving(true)
    try {
      const paths = [...(name === before.name ? [] : ["name"]), ...(extra === before.extra ? [] : ["extra"])]
      await users.updateUser({
        id: user.id,
        // A path without a value removes the name.
        ...(name !== "" && { name }),
        extra: parsed,
        updateMask: { paths },
        ...(user.etag !== undefined && { etag: user.etag }),
      })
      notify(`Saved ${paths.join(" and ")}.`)
      close()
      onDone()
    } catch (thrown) {
      if (isStale(thrown)) setOutdated(true)
      else setError(explain(thrown))
      setSaving(false)
    }
  }
  const reload = () => {
    dialog.current?.close()
    onDone()
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="edit-title">
      <form onSubmit={save}>
        <h2 id="edit-title">Edit the user</h2>
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
          Extra, as JSON
          <textarea
            class="json"
            rows={8}
            value={extra}
            onInput={(event) => setExtra(event.currentTarget.value)}
            spellcheck={false}
          />
        </label>
        {problem !== "" && <p role="alert">{problem}</p>}
        {lines.length > 0 && (
          <pre class="difference">
            {lines.map((line, index) => (
              <span key={index} class={line.startsWith("+") ? "added" : "removed"}>
                {line}
                {"\n"}
              </span>
            ))}
          </pre>
        )}
        {error !== "" && <p role="alert">{error}</p>}
        {isOutdated && <Stale reload={reload} />}
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isAllowed || isSaving}>
            Save
          </button>
        </p>
      </form>
    </dialog>
  )
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** The lines that go, and the lines that come. */
function difference(before: { name: string; extra: string }, after: { name: string; extra: string }): string[] {
  const changed = (label: string, one: string, two: string) => {
    const [old, next] = [one.split("\n"), two.split("\n")]
    return [
      ...old.filter((line) => !next.includes(line)).map((line) => `- ${label}${line}`),
      ...next.filter((line) => !old.includes(line)).map((line) => `+ ${label}${line}`),
    ]
  }
  return [...changed("name: ", before.name, after.name), ...changed("", before.extra, after.extra)]
}
