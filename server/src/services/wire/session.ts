import type {
  CountSessionsRequest,
  CreateSessionRequest,
  ListSessionsRequest,
  RevokeUserSessionsRequest,
  SessionExtension,
  SessionSchema,
  UpdateSessionRequest,
} from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import { plainAddress } from "../../util/address.js"
import {
  fromExtra,
  required,
  toDate,
  toExtraPatch,
  toMilliseconds,
  unknownPath,
  type Whole,
  type WholeMessage,
} from "./values.js"

export function toSession(request: CreateSessionRequest): Whole<Omit<domain.Session, "id">> {
  return {
    sessionToken: request.sessionToken,
    userId: request.userId,
    expires: toDate(required(request.expires, "expires"), "expires"),
    extra: request.extra ?? {},
  }
}

export function toSessionMetadata(request: CreateSessionRequest): Whole<domain.SessionMetadata> {
  const { ip, userAgent, authMethod, provider, impersonator, providerSessionId } = request
  return { ip: ip && plainAddress(ip), userAgent, authMethod, provider, impersonator, providerSessionId }
}

export function toSessionFilter(request: ListSessionsRequest): Whole<domain.SessionFilter> {
  const { allUsers, active, provider, createdSince, ip, impersonated } = request
  return {
    userId: allUsers ? undefined : request.userId,
    active,
    provider,
    createdSince: createdSince && toDate(createdSince, "created_since"),
    ip: ip && plainAddress(ip),
    impersonated: impersonated || undefined,
  }
}

export function toSessionCountFilter(request: CountSessionsRequest): Whole<domain.SessionCountFilter> {
  const { active, createdSince, createdBefore } = request
  return {
    active,
    createdSince: createdSince && toDate(createdSince, "created_since"),
    createdBefore: createdBefore && toDate(createdBefore, "created_before"),
  }
}

export function toKeptSessions(request: RevokeUserSessionsRequest): Whole<domain.KeptSessions> {
  return { id: request.keptId, sessionToken: request.keptSessionToken }
}

/** The properties of the contract that have a field. */
const named: ReadonlySet<string> = new Set(["sessionToken", "userId", "expires"])

export function toSessionPatch(request: UpdateSessionRequest): domain.SessionPatch {
  const patch: domain.SessionPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "user_id") patch.userId = request.userId
    else if (path === "expires") patch.expires = request.expires && toDate(request.expires, "expires")
    else if (path === "extra") patch.extra = toExtraPatch(request.extra, named)
    else throw unknownPath()
  }
  return patch
}

export function toSessionExtension(extension: SessionExtension): Whole<domain.SessionExtension> {
  return {
    maxAge: toMilliseconds(required(extension.maxAge, "extend.max_age"), "extend.max_age"),
    updateAge: toMilliseconds(required(extension.updateAge, "extend.update_age"), "extend.update_age"),
  }
}

/** Converts a session. A listed session has no token. */
export function fromSession(
  session: Omit<domain.Session, "sessionToken"> &
    Partial<Pick<domain.Session, "sessionToken"> & Omit<domain.ListedSession, "id">>,
): WholeMessage<typeof SessionSchema> {
  return {
    sessionToken: session.sessionToken ?? "",
    userId: session.userId,
    expires: timestampFromDate(session.expires),
    extra: fromExtra(session.extra),
    id: session.id ?? "",
    createTime: session.created && timestampFromDate(session.created),
    lastSeenTime: session.lastSeen && timestampFromDate(session.lastSeen),
    ip: session.ip,
    userAgent: session.userAgent,
    authMethod: session.authMethod,
    provider: session.provider,
    impersonator: session.impersonator,
    providerSessionId: session.providerSessionId,
  }
}
