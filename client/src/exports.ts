// What both entry points of the package export.

export { EventKind } from "@authwire/proto/slim"
export type { AuthwireAdapterMethods, ServiceClients } from "./adapter/adapter.js"
export type { SessionContext } from "./adapter/context.js"
export { isDisabled } from "./adapter/disabled-users.js"
export type { RemoteJwtMethods } from "./adapter/jwt.js"
export type { AdapterOptions, JwtOptions, SessionCacheOptions, SignOutEvent } from "./adapter/options.js"
export type { SessionAgeOptions } from "./adapter/session-access.js"
export type { AdministrationClients } from "./administration.js"
export type { AuthwireClient } from "./client.js"
export { AuthwireError, type FieldViolation, type StatusName } from "./errors/error.js"
export type { EventsClient, WatchOptions } from "./events.js"
export type {
  AccountLists,
  ApiKeyLists,
  AuditLists,
  AuthenticatorLists,
  List,
  SessionLists,
  TenantLists,
  UserLists,
  WebhookLists,
} from "./lists.js"
export { nextAuth4Options } from "./sessions/next-auth-4.js"
export { storeTokens, type TokenConfig } from "./sessions/store-tokens.js"
export { type SessionOptions, throwOutages } from "./sessions/throw-outages.js"
export { SessionUnavailable } from "./sessions/unavailable.js"
export { type UnansweredRequest, unavailableResponse } from "./sessions/unavailable-response.js"
export type { ConnectionOptions } from "./transport/options.js"
