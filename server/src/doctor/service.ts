import {
  AccountService,
  AuthenticatorService,
  SessionService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import type { DescMethodUnary } from "@bufbuild/protobuf"
import { ConnectError, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import { scopeOf } from "../auth/scopes.js"
import type { Diagnosis } from "./finding.js"

/** The options of AuthwireAdapter. */
export interface AdapterOptions {
  url: string
  apiKey: string | undefined
}

const timeoutMs = 5000

/** One method for each scope that the adapter needs. Each rejects an empty request, so nothing is done. */
const methods: readonly DescMethodUnary[] = [
  UserService.method.getUser,
  UserService.method.deleteUser,
  AccountService.method.getAccount,
  AccountService.method.unlinkAccount,
  SessionService.method.getSessionAndUser,
  SessionService.method.deleteSession,
  VerificationTokenService.method.useVerificationToken,
  AuthenticatorService.method.getAuthenticator,
  AuthenticatorService.method.updateAuthenticatorCounter,
]

/** Checks as the adapter would whether a service is running and accepts the API key. Writes nothing. */
export async function diagnoseService(options: AdapterOptions): Promise<Diagnosis[]> {
  const what = "url of the adapter"
  if (options.url.startsWith("dns:///")) {
    const detail = "dns:/// is not checked: give the same host and port with http:// or https://"
    return [{ state: "warning", what, detail }]
  }
  if (!/^https?:\/\//i.test(options.url) || !URL.canParse(options.url)) {
    return [{ state: "wrong", what, detail: "must begin with http:// or https://" }]
  }
  const baseUrl = new URL(options.url).origin
  const http = createConnectTransport({ baseUrl, httpVersion: "1.1" })
  if ("reason" in (await ask(http, methods[0] as DescMethodUnary, options.apiKey))) {
    const detail =
      "this is the HTTP address, which @authwire/client/edge requires; @authwire/client on Node requires the gRPC address"
    return [{ state: "warning", what, detail }, await diagnoseKey(http, options.apiKey)]
  }
  const sessionManager = new Http2SessionManager(baseUrl)
  const grpc = createGrpcTransport({ baseUrl, sessionManager })
  try {
    const answer = await ask(grpc, methods[0] as DescMethodUnary, options.apiKey)
    if ("failure" in answer) return [{ state: "wrong", what, detail: adviceOf(answer.failure) }]
    const detail =
      "this is the gRPC address, which @authwire/client requires; @authwire/client/edge requires the HTTP address"
    return [{ state: "ok", what, detail }, await diagnoseKey(grpc, options.apiKey)]
  } finally {
    // A connection that is never established would keep the process alive.
    sessionManager.abort()
  }
}

async function diagnoseKey(transport: Transport, apiKey: string | undefined): Promise<Diagnosis> {
  const what = "apiKey of the adapter"
  const answers = await Promise.all(methods.map((method) => ask(transport, method, apiKey)))
  const reasons = answers.map((answer) => ("reason" in answer ? answer.reason : answer.failure))
  if (reasons.includes("API_KEY_MISSING")) {
    return { state: "wrong", what, detail: "the service requires an API key: set AUTHWIRE_API_KEY" }
  }
  if (reasons.includes("API_KEY_INVALID")) {
    return { state: "wrong", what, detail: "the service rejects the key: it is unknown, revoked or expired" }
  }
  const lacking = methods.filter((_, index) => reasons[index] === "SCOPE_MISSING").map(scopeOf)
  if (lacking.length > 0) return { state: "wrong", what, detail: `the key lacks the scopes ${lacking.join(", ")}` }
  const other = reasons.find((reason) => reason !== "INVALID_FIELD")
  if (other !== undefined) return { state: "wrong", what, detail: `the key could not be checked: ${other}` }
  return {
    state: "ok",
    what,
    detail: apiKey === undefined ? "the service requires no API key" : "the key has every scope that the adapter needs",
  }
}

/** Calls a method with an empty request. Returns the reason of the rejection, or why there is no answer. */
async function ask(
  transport: Transport,
  method: DescMethodUnary,
  apiKey: string | undefined,
): Promise<{ reason: string } | { failure: string }> {
  const header = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  try {
    await transport.unary(method, undefined, timeoutMs, header, {})
    return { failure: "the response is not from Authwire" }
  } catch (error) {
    const [info] = error instanceof ConnectError ? error.findDetails(ErrorInfoSchema) : []
    return info?.domain === "authwire" ? { reason: info.reason } : { failure: codeOf(error) }
  }
}

/** Returns the system or TLS code of the root cause, else its message. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ("code" in error && typeof error.code === "string") return error.code
  return error.cause === undefined ? error.message : codeOf(error.cause)
}

export function adviceOf(failure: string): string {
  if (/CERT|SIGNATURE|ISSUER/.test(failure)) {
    return `the certificate is not trusted (${failure}): set NODE_EXTRA_CA_CERTS to a file with the certificate of its CA, or renew it`
  }
  return `no Authwire answers at this address (${failure}): is it running, and does http:// or https:// match its listener?`
}
