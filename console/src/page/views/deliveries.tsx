import type { ListDeliveriesResponse, Webhook, WebhookDelivery } from "@authwire/proto"
import { durationMs } from "@bufbuild/protobuf/wkt"
import { useEffect, useState } from "preact/hooks"
import { explain, webhooks } from "../client.ts"
import { useLoaded } from "../loading.ts"
import { useNames } from "../names.ts"
import { Failed, Nothing, notify } from "../parts/feedback.tsx"
import { Outcomes } from "../parts/outcomes.tsx"
import { Pages, usePages } from "../parts/pages.tsx"
import { type Column, Table } from "../parts/table.tsx"
import { Moment, Time } from "../parts/time.tsx"
import { UserLink } from "../parts/user-link.tsx"
import { useCan } from "../permissions.ts"
import { number, plain } from "../text.ts"
import { kindName } from "./live.tsx"

/** How long the page waits for what becomes of a delivery: another replica may have to take over, and an attempt takes 15 s. */
const followedMs = 60_000
const pauseMs = 500

interface Sent {
  id: string
  until: number
  before: ListDeliveriesResponse | undefined
}

/** The last deliveries of a webhook, what became of them, and a test. */
export function Deliveries({ webhook, reloadWebhook }: { webhook: Webhook; reloadWebhook: () => void }) {
  const can = useCan()
  const webhookId = webhook.id
  /** What was sent last by hand, until when its outcome is waited for, and what was known before. */
  const [sent, setSent] = useState<Sent>({ id: "", until: 0, before: undefined })
  const [error, setError] = useState("")
  const [isPending, setPending] = useState(false)
  const filter = isPending ? { pending: true } : {}
  // It is on the first page.
  const pages = usePages(`${isPending} ${sent.until}`)
  const list = useLoaded(
    (signal) => webhooks.listDeliveries({ webhookId, ...filter, pageSize: 100, pageToken: pages.token }, { signal }),
    [webhookId, isPending, pages.token, sent.until],
  )
  const found = list.answer?.deliveries ?? []
  const nameOf = useNames(found.map(({ userId = "" }) => userId))
  useEffect(() => {
    if (sent.id === "" || list.isLoading || list.answer === sent.before) return
    const delivery = list.answer?.deliveries.find(({ id }) => id === sent.id)
    const isOver = delivery !== undefined && delivery.attempts > 0
    if (!isOver && Date.now() < sent.until) {
      const timer = setTimeout(list.reload, pauseMs)
      return () => clearTimeout(timer)
    }
    notify(isOver ? `The delivery was ${outcomeOf(delivery)}.` : "The delivery waits: others are before it.")
    setSent({ ...sent, id: "" })
    // 410 disables it.
    reloadWebhook()
    return
  }, [list.answer, list.isLoading, sent])
  const send = (call: Promise<{ delivery?: WebhookDelivery | undefined }>) => {
    setError("")
    call.then(
      ({ delivery }) =>
        delivery
          ? setSent({ id: delivery.id, until: Date.now() + followedMs, before: list.answer })
          : setError("There is no such delivery."),
      (thrown) => setError(explain(thrown)),
    )
  }
  const refresh = () => {
    list.reload()
    reloadWebhook()
  }
  const columns: Column<WebhookDelivery>[] = [
    { name: "Event", cell: ({ kind }) => (kind === 0 ? "test" : kindName(kind)) },
    {
      name: "User",
      class: "cut",
      cell: ({ userId }) => userId !== undefined && <UserLink id={userId} name={nameOf(userId)} />,
    },
    { name: "Written", cell: ({ createTime }) => <Moment at={createTime} /> },
    {
      name: "Outcome",
      cell: (delivery) => (
        <>
          <span class={isBad(delivery) ? "mark" : ""}>{outcomeOf(delivery)}</span>
          {delivery.pending && delivery.attempts > 0 && (
            <div class="muted">
              again <Time at={delivery.nextAttemptTime} />
            </div>
          )}
        </>
      ),
    },
    { name: "Attempts", cell: ({ attempts }) => number(attempts) },
    { name: "Duration", cell: ({ duration }) => duration && `${number(Math.round(durationMs(duration)))} ms` },
  ]
  if (can("webhooks:write"))
    columns.push({
      name: "Actions",
      isUnnamed: true,
      cell: ({ id }) => (
        <button type="button" onClick={() => send(webhooks.redeliver({ id }))}>
          Redeliver
        </button>
      ),
    })
  const attempted = found.filter(({ lastAttemptTime }) => lastAttemptTime !== undefined)
  const bad = attempted.filter(isBad).length
  const bars = attempted.toReversed().map((delivery) => ({
    ...{ id: delivery.id, isGood: !isBad(delivery) },
    ms: delivery.duration ? durationMs(delivery.duration) : 0,
  }))
  const longest = number(Math.round(Math.max(0, ...bars.map(({ ms }) => ms))))
  const chart = `${number(bars.length - bad)} accepted (up), ${number(bad)} not accepted (down), by duration: the longest ${longest} ms`
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <p class="buttons">
        {can("webhooks:write") && webhook.disableTime === undefined && (
          <button type="button" onClick={() => send(webhooks.sendTest({ id: webhookId }))}>
            Send a test
          </button>
        )}
        <button type="button" onClick={refresh}>
          Refresh
        </button>
        <label>
          <input
            type="checkbox"
            checked={isPending}
            onChange={({ currentTarget: { checked } }) => setPending(checked)}
          />{" "}
          Only those that are still to be sent
        </label>
        {sent.id !== "" && <span role="status">Sending…</span>}
      </p>
      {error !== "" && <p role="alert">{error}</p>}
      {list.error !== undefined && <Failed error={list.error} retry={list.reload} />}
      {list.answer === undefined && list.error === undefined && <p role="status">Loading…</p>}
      {list.answer && found.length === 0 && <Nothing>There is no delivery. Each is kept for five days.</Nothing>}
      {bars.length > 0 && <Outcomes name={chart} bars={bars} />}
      {found.length > 0 && (
        <Table columns={columns} rows={found} keyOf={({ id }) => id} isBusy={list.isLoading && sent.id === ""} />
      )}
      <Pages pages={pages} next={list.answer?.nextPageToken} />
    </section>
  )
}

const isAccepted = ({ status = 0 }: WebhookDelivery) => status >= 200 && status < 300

/** Whether it was sent, and its receiver has not accepted it. */
const isBad = (delivery: WebhookDelivery) => delivery.lastAttemptTime !== undefined && !isAccepted(delivery)

function outcomeOf(delivery: WebhookDelivery): string {
  const { attempts, status, error } = delivery
  if (attempts === 0) return "waiting"
  if (status === undefined) return `not delivered: ${plain(error)}`
  return `${isAccepted(delivery) ? "accepted" : "refused"} with status ${status}`
}
