import { SessionLimitAction as Limit, type SessionPolicy } from "@authwire/proto"
import { useContext, useState } from "preact/hooks"
import { policies, sessions } from "../client.ts"
import { durationText } from "../duration.ts"
import { useLoaded } from "../loading.ts"
import { type Action, Confirm } from "../parts/confirm.tsx"
import { Failed } from "../parts/feedback.tsx"
import { Access, useCan } from "../permissions.ts"
import { plain } from "../text.ts"
import { EditPolicy, ruleNames } from "./edit-policy.tsx"
import { Fact } from "./user.tsx"

/** The session policy of the tenant, and the end of all its sessions. */
export function Policy() {
  const can = useCan()
  const { tenant } = useContext(Access)
  const [isEditing, setEditing] = useState(false)
  const [action, setAction] = useState<Action>()
  const [provider, setProvider] = useState("")
  const page = useLoaded((signal) => policies.getSessionPolicy({}, { signal }), [])
  const policy = page.answer?.policy
  const signOut = (event: Event) => {
    event.preventDefault()
    const who = provider === "" ? "everybody" : `everybody who signed in with ${plain(provider)}`
    setAction({
      title: `Sign out ${who}?`,
      label: "Sign out",
      isDangerous: true,
      typed: tenant,
      about: <p>All their sessions of this tenant end at once. JWTs of applications stay valid until they expire.</p>,
      run: async () => {
        await sessions.revokeAllSessions({ ...(provider !== "" && { provider }), awaitCaches: true })
        return `Signed out ${who}.`
      },
      onDone: () => setProvider(""),
    })
  }
  return (
    <>
      <h1 tabIndex={-1}>Session policy</h1>
      <p>
        The service enforces these rules for the tenant <b>{plain(tenant)}</b>, whatever its applications ask for.
      </p>
      {page.error !== undefined && <Failed error={page.error} retry={page.reload} />}
      {page.answer === undefined && page.error === undefined && <p role="status">Loading…</p>}
      {policy && (
        <dl class="facts">
          {rulesOf(policy).map(([rule, value]) => (
            <Fact key={rule} name={rule}>
              {value}
            </Fact>
          ))}
        </dl>
      )}
      {policy && can("session-policy:write") && (
        <p class="buttons">
          <button type="button" class="primary" onClick={() => setEditing(true)}>
            Change the policy
          </button>
        </p>
      )}
      {can("sessions:revoke-all") && (
        <form onSubmit={signOut}>
          <h2>Sign everybody out</h2>
          <label>
            Only who signed in with this provider (empty: everybody)
            <input
              value={provider}
              maxLength={255}
              onInput={(event) => setProvider(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
          <p class="buttons">
            <button type="submit" class="dangerous">
              Sign everybody out
            </button>
          </p>
        </form>
      )}
      {isEditing && policy && <EditPolicy policy={policy} close={() => setEditing(false)} onDone={page.reload} />}
      {action && <Confirm action={action} close={() => setAction(undefined)} />}
    </>
  )
}

/** The rules of a policy, as they are shown. */
function rulesOf({ maxAge, idleTimeout, maxSessions, atLimit }: SessionPolicy): [rule: string, value: string][] {
  const after = (duration: typeof maxAge) => (duration ? durationText(Number(duration.seconds)) : "no limit")
  const atMost = atLimit === Limit.REJECT_NEW ? "a further sign-in is rejected" : "the oldest ends"
  return [
    [ruleNames.max_age, after(maxAge)],
    [ruleNames.idle_timeout, after(idleTimeout)],
    [ruleNames.max_sessions, maxSessions === undefined ? "no limit" : `${maxSessions}; ${atMost}`],
  ]
}
