import { type IntrospectRequest, type IntrospectResponseSchema, SessionStrategy } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type { EverySessionOption, RequestSession } from "../../introspection/request-session.js"
import { fromUserWithoutEtag } from "./user.js"
import type { WholeMessage } from "./values.js"

const strategies = {
  [SessionStrategy.UNSPECIFIED]: undefined,
  [SessionStrategy.DATABASE]: "database",
  [SessionStrategy.JWT]: "jwt",
} as const

export function toRequestSessionOptions(request: IntrospectRequest): EverySessionOption {
  const { cookieName, secureCookie, salt, strategy, withUser, userIdClaim, nextAuth4 } = request
  return { cookieName, secureCookie, salt, strategy: strategies[strategy], withUser, userIdClaim, nextAuth4 }
}

/** Converts the session of a request. Without a session the response contains nothing else, not even a reason. */
export function fromRequestSession(
  session: RequestSession | null,
): WholeMessage<typeof IntrospectResponseSchema> | { active: false } {
  if (session === null) return { active: false }
  const { kind, userId, sessionId = "", expires, user, claims } = session
  return {
    active: true,
    sub: userId,
    exp: Math.floor(expires.getTime() / 1000),
    iat: typeof claims?.iat === "number" ? claims.iat : undefined,
    jti: sessionId,
    iss: typeof claims?.iss === "string" ? claims.iss : undefined,
    aud: [claims?.aud].flat().filter((one) => typeof one === "string"),
    strategy: kind === "jwt" ? SessionStrategy.JWT : SessionStrategy.DATABASE,
    sessionId,
    expires: timestampFromDate(expires),
    user: user && fromUserWithoutEtag(user),
    claims,
  }
}
