import {
  AccountService,
  AuditService,
  SessionPolicyService,
  SessionService,
  UserService,
  WebhookService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import type { Configuration } from "../../config/configuration.js"
import { adviceOf, codeOf } from "../../doctor/service.js"
import { StartError } from "../../errors/start-error.js"

/** The methods of a running service. */
export interface Service {
  users: Client<typeof UserService>
  accounts: Client<typeof AccountService>
  sessions: Client<typeof SessionService>
  policies: Client<typeof SessionPolicyService>
  audit: Client<typeof AuditService>
  webhooks: Client<typeof WebhookService>
}

/** The longest time that one call may take, in milliseconds. */
const timeoutMs = 60_000

/** Runs the work of a command that calls a service. Its error becomes a StartError: the reason, and what to do. */
export async function withService<T>(
  { serviceUrl, serviceKey }: Pick<Configuration<"users find">, "serviceUrl" | "serviceKey">,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const baseUrl = new URL(serviceUrl).origin
  const sessionManager = new Http2SessionManager(baseUrl)
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    defaultTimeoutMs: timeoutMs,
    interceptors: [
      (next) => (request) => {
        if (serviceKey !== undefined) request.header.set("authorization", `Bearer ${serviceKey}`)
        return next(request)
      },
    ],
  })
  try {
    return await work({
      users: createClient(UserService, transport),
      accounts: createClient(AccountService, transport),
      sessions: createClient(SessionService, transport),
      policies: createClient(SessionPolicyService, transport),
      audit: createClient(AuditService, transport),
      webhooks: createClient(WebhookService, transport),
    })
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    throw new StartError(sentenceOf(error, baseUrl), { cause: error })
  } finally {
    // A connection that is never established would keep the process alive.
    sessionManager.abort()
  }
}

const tryAgain = "try again later"

export const noSuchUser = "there is no user with this id: authwire users find shows the ids"

/** What the reasons of the service mean to a person, and what to do. */
const sentences: Readonly<Record<string, string>> = {
  API_KEY_MISSING:
    "the service requires an API key: set AUTHWIRE_API_KEY, or AUTHWIRE_API_KEY_FILE to the name of its file",
  API_KEY_INVALID: "the service rejects the API key, because it is unknown, revoked or expired: create another one",
  USER_NOT_FOUND: noSuchUser,
  SESSION_NOT_FOUND: "there is no session with this id: authwire sessions list shows the ids",
  EMAIL_ALREADY_EXISTS: "--email: another user has this address: authwire users find shows who",
  EVENTS_NOT_KEPT: "the service keeps no events (--events-keep 0), so webhooks get none",
  METHOD_UNKNOWN: "the service does not have this method, because its version is older: upgrade it",
  SERVICE_UNKNOWN: "the service does not have this method, because its version is older: upgrade it",
  DATABASE_UNAVAILABLE: `the database of the service does not answer: ${tryAgain}`,
  RATE_LIMITED: `the API key has made too many calls: ${tryAgain}`,
  CACHES_NOT_CONFIRMED:
    "it is done, but not every application has confirmed it yet: each stops using what it has cached within its maxStaleMs",
}

function sentenceOf(error: ConnectError, baseUrl: string): string {
  const [info] = error.findDetails(ErrorInfoSchema)
  if (info?.domain !== "authwire") return `${baseUrl}: ${transportAdvice(error)}`
  const { reason, metadata } = info
  if (reason === "SCOPE_MISSING")
    return `the API key lacks the scope ${metadata.scope}: use a key that has it, or create one with: authwire keys create --name NAME --scopes ${metadata.scope}`
  if (reason === "INVALID_FIELD") {
    const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations)
    const rules = violations.map(({ field, description }) => `${nameOf(field)}: ${description}`)
    return `the service rejects an argument: ${rules.join("; ") || error.rawMessage}`
  }
  return sentences[reason] ?? `the service has failed (${reason}): ${error.rawMessage}; ${tryAgain}`
}

/** The options that a person gives for fields of requests whose names are others. */
const optionsOfFields: Readonly<Record<string, string>> = {
  email_verified: "--verified",
  end_time: "--until",
  user_id: "--user",
  key_id: "--key",
  url: "--to",
}

/** Returns the option in which a field was given. An id is an argument of its command. */
function nameOf(field: string): string {
  const [name = ""] = field.split(/[.[]/)
  if (name === "ids") return "id"
  if (name === "id" || name === "") return field
  return optionsOfFields[name] ?? `--${name.replaceAll("_", "-")}`
}

function transportAdvice(error: ConnectError): string {
  if (error.code === Code.DeadlineExceeded)
    return `the service did not answer within ${timeoutMs / 1000} seconds: ${tryAgain}`
  return adviceOf(codeOf(error))
}
