import { SessionLimitAction, type SessionPolicySchema, type UpdateSessionPolicyRequest } from "@authwire/proto"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { sessionPolicyEtag } from "../../store/etag.js"
import type * as domain from "../../store/types.js"
import { toMilliseconds, unknownPath, type WholeMessage } from "./values.js"

/** The actions of the schema, for both directions. The compiler reports one that is missing. */
const actions: Record<NonNullable<domain.SessionPolicy["atLimit"]>, SessionLimitAction> = {
  end_oldest: SessionLimitAction.END_OLDEST,
  reject_new: SessionLimitAction.REJECT_NEW,
}

const toAction = (action: SessionLimitAction) =>
  action === SessionLimitAction.REJECT_NEW ? ("reject_new" as const) : null

export function toSessionPolicyPatch(request: UpdateSessionPolicyRequest): domain.SessionPolicyPatch {
  const { maxAge, idleTimeout } = request
  const patch: domain.SessionPolicyPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "max_age") patch.maxAge = maxAge ? toMilliseconds(maxAge, "max_age") : null
    else if (path === "idle_timeout")
      patch.idleTimeout = idleTimeout ? toMilliseconds(idleTimeout, "idle_timeout") : null
    else if (path === "max_sessions") patch.maxSessions = request.maxSessions ?? null
    else if (path === "at_limit") patch.atLimit = toAction(request.atLimit)
    else throw unknownPath()
  }
  return patch
}

export function fromSessionPolicy(policy: domain.SessionPolicy): WholeMessage<typeof SessionPolicySchema> {
  const { maxAge, idleTimeout, maxSessions, atLimit = "end_oldest" } = policy
  return {
    maxAge: maxAge === undefined ? undefined : durationFromMs(maxAge),
    idleTimeout: idleTimeout === undefined ? undefined : durationFromMs(idleTimeout),
    maxSessions,
    atLimit: actions[atLimit],
    etag: sessionPolicyEtag(policy),
  }
}
