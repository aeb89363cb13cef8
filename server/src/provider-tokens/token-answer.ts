import { isUtf8 } from "node:buffer"
import type { KeptTokens, RefreshedTokens } from "../store/types.js"
import { isObject } from "../util/json.js"
import { queryOf, utf8 } from "../util/utf8.js"
import { expiryOfAnswer } from "./expiry.js"
import type { ErrorKind } from "./provider.js"

/** Why there is no access token that can be used, apart from an error that the provider names. */
type AnswerFailure =
  | "network"
  | "timeout"
  /** An HTTP status that says so: 408, 425, 429, 5xx, or a redirect. */
  | "status"
  /** Neither tokens nor an error were found in it. */
  | "malformed"
  | "too_large"
  /** The provider issued other tokens, but no access token, or one that cannot be stored. */
  | "no_access_token"
  /** The access token had expired when it was issued. */
  | "expired"

/**
 * A refresh without a usable access token. `refused`: the provider rejects the grant, so that only a new sign-in helps.
 * `client`: it rejects the service as a client. `unavailable`: trying again later may help.
 */
export interface FailedRefresh {
  kind: ErrorKind
  /** The configuration of the provider says so. */
  isConfigured?: boolean
  failure?: AnswerFailure | undefined
  /** The provider's error code, if it has the form of one. */
  code?: string | undefined
  /** The status of HTTP, if there was a response. */
  status?: number | undefined
  /** The time after which the provider may be asked again, if the provider specified one. */
  retryAfterMs?: number | undefined
  /** The tokens of the answer. They are stored, because they may replace the previous ones. */
  kept?: KeptTokens | undefined
}

/** The outcome of a refresh request to the provider. */
export type Outcome = { kind: "tokens"; tokens: RefreshedTokens } | FailedRefresh

export interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: Uint8Array
}

/** How this provider's error codes differ from the usual meaning. */
type ErrorCodes = ReadonlyMap<string, ErrorKind>

/** The limits of the schema, in bytes. */
const maxTokenBytes = 131_072
const maxScopeBytes = 16_384
/** The maximum length of an error code. It is stored with the failure. */
const maxCodeLength = 32
const maxRetryAfterMs = 300_000

/** Error codes that say nothing about the grant. All codes that are not listed here reject the grant. */
const usualCodes: ErrorCodes = new Map([
  ["invalid_client", "client"],
  // GitHub's name of it.
  ["incorrect_client_credentials", "client"],
  ["unauthorized_client", "client"],
  ["temporarily_unavailable", "unavailable"],
  ["server_error", "unavailable"],
  ["internal_error", "unavailable"],
  ["service_unavailable", "unavailable"],
  ["slow_down", "unavailable"],
  ["rate_limited", "unavailable"],
  ["ratelimited", "unavailable"],
  ["too_many_requests", "unavailable"],
])

/**
 * Decides what an answer of a token endpoint means. Tokens of a 2xx response are kept in any case. Without a usable
 * access token, the status of HTTP says first whether it is an outage, and then the error code what is rejected.
 *
 * @param now The time in milliseconds since 1970. The lifetimes in the answer count from it.
 * @param given The error codes that the configuration of the provider lists. They have priority.
 */
export function outcomeOf(answer: Answer, now: number, given: ErrorCodes = new Map()): Outcome {
  const { status } = answer
  const members = membersOf(answer.body)
  const isSuccess = status >= 200 && status < 300
  const tokens = isSuccess && members !== undefined ? tokensOf(members, now) : {}
  if (isUsable(tokens, now)) return { kind: "tokens", tokens }
  const retryAfterMs = retryAfterOf(answer.retryAfter, now)
  const code = members === undefined ? undefined : codeOf(members)
  const failed = {
    status,
    ...(code !== undefined && { code }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(Object.values(tokens).some((value) => value !== undefined) && { kept: tokens }),
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500 || (!isSuccess && status < 400)) {
    return { ...failed, kind: "unavailable", failure: "status" }
  }
  if (members === undefined) return { ...failed, kind: "unavailable", failure: isSuccess ? "malformed" : "status" }
  if (tokens.access_token !== undefined) return { ...failed, kind: "unavailable", failure: "expired" }
  const configured = given.get(code ?? "")
  const kind = configured ?? usualCodes.get(code ?? "")
  if (kind !== undefined) {
    const isConfigured = configured !== undefined
    return {
      ...failed,
      kind,
      ...(isConfigured && { isConfigured }),
      ...(kind === "unavailable" && { failure: "status" }),
    }
  }
  // A success without tokens and without an error is not the answer of a token endpoint.
  if (isSuccess && !isError(members)) {
    return tokens.refresh_token === undefined && tokens.id_token === undefined
      ? { ...failed, kind: "unavailable", failure: "malformed" }
      : { ...failed, kind: "refused", failure: "no_access_token" }
  }
  return { ...failed, kind: "refused" }
}

/** Returns what can be stored of the tokens in an answer, in whichever form they have. */
function tokensOf(members: Members, now: number): KeptTokens {
  const { token_type, scope } = members
  const given: KeptTokens = {
    access_token: textOf(members.access_token, maxTokenBytes),
    refresh_token: textOf(members.refresh_token, maxTokenBytes),
    id_token: textOf(members.id_token, maxTokenBytes),
  }
  if (given.access_token === undefined) return given
  const scopes = Array.isArray(scope) && scope.every((one) => typeof one === "string") ? scope.join(" ") : scope
  return {
    ...given,
    // Some providers omit it, although RFC 6749 requires it.
    token_type: textOf(token_type, 255)?.toLowerCase() ?? "bearer",
    scope: textOf(scopes, maxScopeBytes),
    ...expiryOfAnswer(members, now),
  }
}

function isUsable(tokens: KeptTokens, now: number): tokens is RefreshedTokens {
  const { access_token, expires_at } = tokens
  return access_token !== undefined && (expires_at === undefined || expires_at * 1000 > now)
}

/**
 * Returns the error code of an answer: the `error` of OAuth, or the code of an error that is an object. A text with
 * spaces is a message, which could contain anything, and is not returned.
 */
function codeOf({ error }: Members): string | undefined {
  const code = isObject(error) ? (error.code ?? error.type ?? error.status) : error
  const text = typeof code === "number" ? String(code) : code
  return typeof text === "string" && /^[\w.:-]+$/.test(text)
    ? text.replaceAll(":", ".").slice(0, maxCodeLength)
    : undefined
}

/** Whether the answer says that it is an error. An `error` that is null or empty does not. */
function isError({ error, ok, success }: Members): boolean {
  return ok === false || success === false || (error !== undefined && error !== null && error !== "" && error !== false)
}

/** Returns the delay that a Retry-After header asks for, in seconds or as a date, in milliseconds. */
function retryAfterOf(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined
}

/** Returns a value that can be stored: a text of 1 to `bytes` bytes of well-formed Unicode without U+0000. */
function textOf(value: unknown, bytes: number): string | undefined {
  if (typeof value !== "string" || value === "") return undefined
  return value.isWellFormed() && !value.includes("\0") && Buffer.byteLength(value) <= bytes ? value : undefined
}

/** The members of a token endpoint's answer, as they were sent. */
type Members = Readonly<Record<string, unknown>>

/** Members that are tokens. As a number of JSON they are read as their digits, because a double would round them. */
const tokenMembers: ReadonlySet<string> = new Set(["access_token", "refresh_token", "id_token"])

/** Members of which an answer in the form of a URL query has at least one. */
const formMembers = [...tokenMembers, "error"]

/** Reads the members of an answer, JSON or a form in UTF-8, whatever the content type says; undefined if it is neither. */
function membersOf(body: Uint8Array): Members | undefined {
  if (!isUtf8(body)) return undefined
  const text = utf8.decode(body).trim()
  return jsonMembers(text) ?? formOf(text)
}

/** Node passes the text of a number to a reviver. The types of the language do not have that yet. */
type Reviver = (this: unknown, name: string, value: unknown, context: { source?: string }) => unknown

function jsonMembers(text: string): Members | undefined {
  const digitsOfTokens: Reviver = (name, value, { source }) =>
    typeof value === "number" && tokenMembers.has(name) && source !== undefined && /^\d+$/.test(source) ? source : value
  try {
    const value: unknown = JSON.parse(text, digitsOfTokens as Parameters<typeof JSON.parse>[1])
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function formOf(text: string): Members | undefined {
  if (/^[<{["\s]/.test(text)) return undefined
  const form = queryOf(text)
  return form !== undefined && formMembers.some((name) => form.has(name)) ? Object.fromEntries(form) : undefined
}
