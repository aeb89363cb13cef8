import { SessionLimitAction as Limit, type SessionPolicy } from "@authwire/proto"
import { useEffect, useRef, useState } from "preact/hooks"
import { explain, isStale, policies } from "../client.ts"
import { durationText, secondsOf } from "../duration.ts"
import { notify } from "../parts/feedback.tsx"
import { Stale } from "../parts/stale.tsx"

/** The fields of the form, as texts. An empty one is no rule. */
const fieldsOf = ({ maxAge, idleTimeout, maxSessions, atLimit }: SessionPolicy) => ({
  max_age: maxAge ? durationText(Number(maxAge.seconds)) : "",
  idle_timeout: idleTimeout ? durationText(Number(idleTimeout.seconds)) : "",
  max_sessions: maxSessions === undefined ? "" : String(maxSessions),
  at_limit: atLimit === Limit.REJECT_NEW ? "reject the sign-in" : "end the oldest",
})

type Fields = ReturnType<typeof fieldsOf>
type Rule = keyof Fields

/** What the console calls the rules. The keys are their names in the API. */
export const ruleNames = {
  max_age: "Absolute lifetime",
  idle_timeout: "Idle timeout",
  max_sessions: "Most sessions of a user",
  at_limit: "At this limit",
} as const satisfies Record<Rule, string>

const examples = { max_age: ", such as 90d", idle_timeout: ", such as 12h", max_sessions: "" } as const

const texts = ["max_age", "idle_timeout", "max_sessions"] as const

/** Changes the session policy. Shows what changes before it is saved. */
export function EditPolicy(props: { policy: SessionPolicy; close: () => void; onDone: () => void }) {
  const { close, onDone } = props
  const dialog = useRef<HTMLDialogElement>(null)
  // As it was when the dialog opened, also if the page reads it again: the etag belongs to what is shown as before.
  const [policy] = useState(props.policy)
  const before = fieldsOf(policy)
  const [fields, setFields] = useState(before)
  const [error, setError] = useState("")
  const [isSaving, setSaving] = useState(false)
  const [isOutdated, setOutdated] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const set = (rule: Rule, value: string) => setFields({ ...fields, [rule]: value })
  const changed = [...texts, "at_limit" as const].filter((rule) => fields[rule] !== before[rule])
  const problem = problemOf(fields)
  const isAllowed = problem === "" && changed.length > 0 && !isOutdated
  const save = async (event: Event) => {
    event.preventDefault()
    if (!isAllowed || isSaving) return
    setSaving(true)
    const [maxAge, idleTimeout] = [secondsOf(fields.max_age), secondsOf(fields.idle_timeout)]
    try {
      await policies.updateSessionPolicy({
        ...(typeof maxAge === "number" && { maxAge: { seconds: BigInt(maxAge) } }),
        ...(typeof idleTimeout === "number" && { idleTimeout: { seconds: BigInt(idleTimeout) } }),
        ...(fields.max_sessions.trim() !== "" && { maxSessions: Number(fields.max_sessions) }),
        atLimit: fields.at_limit === "reject the sign-in" ? Limit.REJECT_NEW : Limit.END_OLDEST,
        updateMask: { paths: changed },
        etag: policy.etag,
        awaitCaches: true,
      })
      notify("Saved the session policy.")
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
    <dialog ref={dialog} onClose={close} aria-labelledby="policy-title">
      <form onSubmit={save}>
        <h2 id="policy-title">Change the session policy</h2>
        <p>An empty field is no limit. The rules apply to existing sessions from their next use on.</p>
        {texts.map((rule) => (
          <label key={rule}>
            {ruleNames[rule] + examples[rule]}
            <input value={fields[rule]} onInput={(event) => set(rule, event.currentTarget.value)} autocomplete="off" />
          </label>
        ))}
        <label>
          {ruleNames.at_limit}
          <select value={fields.at_limit} onChange={(event) => set("at_limit", event.currentTarget.value)}>
            <option>end the oldest</option>
            <option>reject the sign-in</option>
          </select>
        </label>
        {problem !== "" && <p role="alert">{problem}</p>}
        {changed.length > 0 && (
          <pre class="difference">
            {changed.map((rule) => (
              <span key={rule}>
                <span class="removed">{`- ${ruleNames[rule]}: ${before[rule] || "no limit"}\n`}</span>
                <span class="added">{`+ ${ruleNames[rule]}: ${fields[rule].trim() || "no limit"}\n`}</span>
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

/** Returns what is wrong with the fields; empty if nothing is. The service has the same rules. */
function problemOf(fields: Fields): string {
  const least = { max_age: 60, idle_timeout: 300 } as const
  for (const [rule, seconds] of Object.entries(least) as [keyof typeof least, number][]) {
    const given = secondsOf(fields[rule])
    if (given === undefined) return `${ruleNames[rule]} must be a duration such as 90d, 12h or 30m.`
    if (given !== null && (given < seconds || given > 3_153_600_000))
      return `${ruleNames[rule]} must be from ${durationText(seconds)} to 36500d.`
  }
  const count = fields.max_sessions.trim()
  if (count !== "" && !(/^\d{1,4}$/.test(count) && Number(count) >= 1 && Number(count) <= 1000))
    return `${ruleNames.max_sessions} must be from 1 to 1000.`
  return ""
}
