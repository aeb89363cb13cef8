import type { User as UserMessage } from "@authwire/proto"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { useLocation } from "preact-iso"
import { users } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { type Action, Confirm } from "../parts/confirm.tsx"
import { Failed } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { nameOf, plain, plainLines } from "../text.ts"
import { Accounts } from "./accounts.tsx"
import { AuditOfUser } from "./audit.tsx"
import { Disable } from "./disable.tsx"
import { Edit } from "./edit.tsx"
import { Passkeys } from "./passkeys.tsx"
import { Sessions } from "./sessions.tsx"

/** One user: who it is, where the user is signed in, and what can be done about it. */
export function User({ id }: { id: string }) {
  const can = useCan()
  const { route } = useLocation()
  const [action, setAction] = useState<Action>()
  const [changes, setChanges] = useState(0)
  const [isEditing, setEditing] = useState(false)
  const user = useLoaded(async (signal) => (await users.getUser({ id }, { signal })).user as UserMessage, [id])
  // GetUser does not return it.
  const created = useLoaded(
    async (signal) => (await users.batchGetUsers({ ids: [id] }, { signal })).users[0]?.createTime,
    [id],
  )
  if (user.answer === undefined) {
    return user.error === undefined ? <p role="status">Loading…</p> : <Failed error={user.error} retry={user.reload} />
  }
  const one = user.answer
  const changed = () => {
    user.reload()
    setChanges((count) => count + 1)
  }
  const part = {
    userId: id,
    changes,
    ask(asked: Action) {
      setAction({ onDone: changed, ...asked })
    },
  }
  const remove: Action = {
    title: "Delete this user?",
    label: "Delete",
    isDangerous: true,
    typed: one.email ?? id,
    about: <p>The user, its accounts, sessions and passkeys are deleted. This cannot be undone.</p>,
    run: async () => {
      await users.deleteUser({ id })
      return `Deleted ${plain(one.email ?? id)}.`
    },
    onDone: () => route("/users"),
  }
  return (
    <>
      <p>
        <a href="/users">← All users</a>
      </p>
      <h1 tabIndex={-1} class="cut">
        {plain(nameOf(one))}
      </h1>
      <dl class="facts">
        <Fact name="E-mail">{one.email === undefined ? <span class="muted">none</span> : plain(one.email)}</Fact>
        {created.answer && (
          <Fact name="Created">
            <Time at={created.answer} />
          </Fact>
        )}
        <Fact name="Verified">
          <Time at={one.emailVerified} never="no" />
        </Fact>
        <Fact name="Id">
          <code>{plain(id)}</code>
        </Fact>
        {one.image && (
          <Fact name="Picture">
            <Picture of={one.image} />
          </Fact>
        )}
        {one.extra !== undefined && Object.keys(one.extra).length > 0 && (
          <Fact name="Extra">
            <pre>{plainLines(JSON.stringify(one.extra, null, 2))}</pre>
          </Fact>
        )}
      </dl>
      {one.disabled && (
        <p class="mark">
          Disabled since <Time at={one.disabled.disableTime} />
          {one.disabled.endTime && (
            <>
              , until <Time at={one.disabled.endTime} />
            </>
          )}
          {one.disabled.reason !== undefined && `: ${plain(one.disabled.reason)}`}
        </p>
      )}
      <div class="buttons">
        {can("users:write") && (
          <button type="button" onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        <Disable user={one} onDone={changed} />
        {can("users:write") && (
          <button type="button" class="dangerous" onClick={() => setAction(remove)}>
            Delete
          </button>
        )}
      </div>
      {can("sessions:read") && <Sessions {...part} />}
      {can("users:read") && <Accounts {...part} />}
      {can("authenticators:read") && <Passkeys {...part} />}
      {can("audit:read") && <AuditOfUser userId={id} changes={changes} />}
      {isEditing && <Edit user={one} close={() => setEditing(false)} onDone={changed} />}
      {action && <Confirm key={action.title} action={action} close={() => setAction(undefined)} />}
    </>
  )
}

/** A picture that is in the user itself. Of others only the address, because the page asks no other host. */
function Picture({ of }: { of: string }) {
  if (/^data:image\/(png|jpeg|gif|webp);/.test(of)) return <img class="picture" src={of} alt="" />
  return /^https?:\/\//.test(of) ? (
    <a href={of} target="_blank" rel="noreferrer">
      {plain(of.slice(0, 200))}
    </a>
  ) : (
    <span>{plain(of.slice(0, 200))}</span>
  )
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
