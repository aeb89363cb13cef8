import {
  AccountService,
  ApiKeyService,
  AuditService,
  AuthenticatorService,
  EventService,
  IntrospectionService,
  type ListAuditEntriesRequestSchema,
  PrivateExtraService,
  SessionPolicyService,
  SessionService,
  SignalService,
  TenantService,
  TokenService,
  UserService,
  VerificationTokenService,
  WebhookService,
} from "@authwire/proto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"

/** Which entries of the audit are shown, as the address holds it. At most one of the first three is given. */
export interface AuditFilter {
  user?: string
  key?: string
  method?: string
  /** Times of the viewer's zone, such as `2026-11-29T07:55`. */
  since?: string
  before?: string
}

/** What entries can be filtered by, each with an index of the service. */
export const auditFilters = { user: "User", key: "Key", method: "Method" } as const

/** The methods that the audit may have, such as `authwire.v1.UserService/DeleteUser`. */
export const methodNames: readonly string[] = [
  AccountService,
  ApiKeyService,
  AuditService,
  AuthenticatorService,
  EventService,
  IntrospectionService,
  PrivateExtraService,
  SessionPolicyService,
  SessionService,
  SignalService,
  TenantService,
  TokenService,
  UserService,
  VerificationTokenService,
  WebhookService,
].flatMap(({ typeName, methods }) => methods.map(({ name }) => `${typeName}/${name}`))

/** Returns the full name of a method, which may be given as `DeleteUser` or `UserService/DeleteUser`. */
export function methodOf(text: string): string {
  return methodNames.find((name) => name.endsWith(`/${text}`) || name === `authwire.v1.${text}`) ?? text
}

/** Returns what the service is asked for. Throws nothing: a time that is none is left out. */
export function auditRequest(filter: AuditFilter): MessageInitShape<typeof ListAuditEntriesRequestSchema> {
  const { user, key, method } = filter
  const momentOf = (text = "") => {
    const ms = new Date(text).getTime()
    return Number.isNaN(ms) ? undefined : timestampFromMs(ms)
  }
  const [since, before] = [momentOf(filter.since), momentOf(filter.before)]
  return {
    ...(user
      ? { filter: { case: "userId", value: user } }
      : key
        ? { filter: { case: "keyId", value: key } }
        : method && { filter: { case: "method", value: methodOf(method) } }),
    ...(since && { since }),
    ...(before && { before }),
  }
}
