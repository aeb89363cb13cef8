import { WebhookDisableReason as Reason, type Webhook } from "@authwire/proto"
import { Time } from "../parts/time.tsx"

const reasons: Readonly<Record<number, string>> = {
  [Reason.REQUESTED]: "by an operator",
  [Reason.GONE]: "the receiver has answered 410",
  [Reason.FAILING]: "a delivery has failed for three days",
  [Reason.BEHIND]: "it has missed events, which were deleted before they could be sent",
}

/** Whether a webhook sends, otherwise since when it does not, and why. */
export function WebhookState({ of: { disableTime, disableReason } }: { of: Webhook }) {
  if (disableTime === undefined) return <>enabled</>
  return (
    <span class="mark">
      disabled <Time at={disableTime} />: {reasons[disableReason] ?? "for a reason that this console does not know"}
    </span>
  )
}
