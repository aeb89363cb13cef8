import {
  AccountService,
  ApiKeyService,
  AuditService,
  AuthenticatorService,
  EventService,
  SessionPolicyService,
  SessionService,
  TenantService,
  UserService,
  WebhookService,
} from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-web"

const storageName = "authwire-console-page"

// The console hands the secret over in the fragment, which no server sees. The address is then free of it.
const handedOver = /^#page=([\w-]+)$/.exec(location.hash)?.[1]
if (handedOver !== undefined) {
  localStorage.setItem(storageName, handedOver)
  history.replaceState(null, "", location.pathname)
}

const withPageSecret: Interceptor = (next) => (request) => {
  request.header.set("x-console-page", localStorage.getItem(storageName) ?? "")
  return next(request)
}

const transport = createConnectTransport({
  baseUrl: `${location.origin}/rpc`,
  useBinaryFormat: true,
  interceptors: [withPageSecret],
  // Reads take long only if the database does.
  defaultTimeoutMs: 20_000,
})

export const users = createClient(UserService, transport)
export const accounts = createClient(AccountService, transport)
export const policies = createClient(SessionPolicyService, transport)
export const sessions = createClient(SessionService, transport)
export const authenticators = createClient(AuthenticatorService, transport)
export const events = createClient(EventService, transport)
export const audit = createClient(AuditService, transport)
export const tenants = createClient(TenantService, transport)
export const webhooks = createClient(WebhookService, transport)
export const apiKeys = createClient(ApiKeyService, transport)

/** What an error means for the person at the console, in one sentence, and what to do. */
export function explain(error: unknown): string {
  const { code, rawMessage } = ConnectError.from(error)
  if (code === Code.Unauthenticated)
    return "The service does not accept the API key. Start the console again with a valid key."
  if (code === Code.PermissionDenied) return `The API key may not do this: ${rawMessage}.`
  const said = rawMessage || "the call failed"
  const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}.`
  return code === Code.Unavailable ? `${sentence} The console tries again.` : sentence
}

/** Whether nothing was written because somebody else has changed the same thing since it was read. */
export function isStale(error: unknown): boolean {
  return ConnectError.from(error)
    .findDetails(ErrorInfoSchema)
    .some(({ reason }) => reason === "STALE_ETAG")
}

/** Whether it makes sense to try the same call again by itself. */
export function isTemporary(error: unknown): boolean {
  return [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted].includes(ConnectError.from(error).code)
}
