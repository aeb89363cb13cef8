import { useState } from "preact/hooks"
import { useLocation } from "preact-iso"
import { webhooks } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { type Action, Confirm } from "../parts/confirm.tsx"
import { Failed, Nothing } from "../parts/feedback.tsx"
import { Time } from "../parts/time.tsx"
import { useCan } from "../permissions.ts"
import { plain } from "../text.ts"
import { Deliveries } from "./deliveries.tsx"
import { kindName } from "./live.tsx"
import { Fact } from "./user.tsx"
import { MadeWebhookSecret, WebhookDialog } from "./webhook-dialog.tsx"
import { WebhookState } from "./webhook-state.tsx"

/** One webhook: what it gets, whether it sends, what became of its last deliveries, and what can be done about it. */
export function Webhook({ id }: { id: string }) {
  const can = useCan()
  const { route } = useLocation()
  const [action, setAction] = useState<Action>()
  const [isEditing, setEditing] = useState(false)
  const [secret, setSecret] = useState<string>()
  // A tenant has few, and no method returns one.
  const list = useLoaded((signal) => webhooks.listWebhooks({ pageSize: 1000 }, { signal }), [id])
  const webhook = list.answer?.webhooks.find((one) => one.id === id)
  if (list.answer === undefined) {
    return list.error === undefined ? <p role="status">Loading…</p> : <Failed error={list.error} retry={list.reload} />
  }
  if (webhook === undefined) return <Nothing>There is no such webhook.</Nothing>
  const name = plain(webhook.name)
  const isDisabled = webhook.disableTime !== undefined
  const ask = (asked: Action) => setAction({ onDone: list.reload, ...asked })
  const setDisabled = (disabled: boolean) =>
    webhooks.updateWebhook({ id, disabled, updateMask: { paths: ["disabled"] } })
  const enable: Action = {
    title: "Enable this webhook?",
    label: "Enable",
    about: <p>It sends what has waited, and the events since its last delivery that are still kept.</p>,
    run: async () => {
      await setDisabled(false)
      return `Enabled ${name}.`
    },
  }
  const disable: Action = {
    title: "Disable this webhook?",
    label: "Disable",
    isDangerous: true,
    about: (
      <p>Nothing is sent until somebody enables it. What happens meanwhile is sent then, as far as it is still kept.</p>
    ),
    run: async () => {
      await setDisabled(true)
      return `Disabled ${name}.`
    },
  }
  const rotate = (): Action => {
    // If the response is lost, the next attempt returns the same secret.
    const options = { headers: { "idempotency-key": crypto.randomUUID() } }
    return {
      title: "Give it a new secret?",
      label: "Rotate",
      isDangerous: true,
      about: <p>For a day deliveries are signed with both secrets. After that only the new one is valid.</p>,
      run: async () => {
        setSecret((await webhooks.rotateSecret({ id }, options)).secret)
        return `Rotated the secret of ${name}.`
      },
    }
  }
  const remove: Action = {
    title: "Delete this webhook?",
    label: "Delete",
    isDangerous: true,
    about: (
      <p>
        <b>{name}</b> and what it has not delivered are deleted. This cannot be undone.
      </p>
    ),
    run: async () => {
      await webhooks.deleteWebhook({ id })
      return `Deleted ${name}.`
    },
    onDone: () => route("/webhooks"),
  }
  return (
    <>
      <p>
        <a href="/webhooks">← All webhooks</a>
      </p>
      <h1 tabIndex={-1} class="cut">
        {name}
      </h1>
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      <dl class="facts">
        <Fact name="State">
          <WebhookState of={webhook} />
        </Fact>
        <Fact name="Address">{plain(webhook.url)}</Fact>
        <Fact name="Events">{webhook.kinds.map(kindName).join(", ") || "all"}</Fact>
        <Fact name="The user too">{webhook.includeUser ? "yes" : "no"}</Fact>
        <Fact name="Created">
          <Time at={webhook.createTime} />
        </Fact>
        {webhook.previousSecretExpireTime && (
          <Fact name="Previous secret">
            signs too, and ends <Time at={webhook.previousSecretExpireTime} />
          </Fact>
        )}
        <Fact name="Id">
          <code>{plain(id)}</code>
        </Fact>
      </dl>
      {can("webhooks:write") && (
        <p class="buttons">
          <button type="button" onClick={() => setEditing(true)}>
            Edit
          </button>
          <button type="button" onClick={() => ask(rotate())}>
            Rotate the secret
          </button>
          {isDisabled ? (
            <button type="button" onClick={() => ask(enable)}>
              Enable
            </button>
          ) : (
            <button type="button" class="dangerous" onClick={() => ask(disable)}>
              Disable
            </button>
          )}
          <button type="button" class="dangerous" onClick={() => ask(remove)}>
            Delete
          </button>
        </p>
      )}
      <Deliveries webhook={webhook} reloadWebhook={list.reload} />
      {isEditing && <WebhookDialog webhook={webhook} close={() => setEditing(false)} onDone={list.reload} />}
      {action && <Confirm key={action.title} action={action} close={() => setAction(undefined)} />}
      {secret !== undefined && <MadeWebhookSecret text={secret} close={() => setSecret(undefined)} />}
    </>
  )
}
