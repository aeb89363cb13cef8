import type { JWTPayload } from "jose"
import { isObject } from "../util/json.js"
import { refused, type Signal, type SignalEffect, type SignalForm } from "./signal.js"

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
const eventPrefix = "https://schemas.openid.net/secevent/"
/** The most events of a token, and the most characters of an id in it. */
const [maxEvents, maxIdLength] = [10, 1_400]

/** The effects of events, by the last parts of their types, without `event-type`. All others have none. */
const effects: Readonly<Record<string, SignalEffect>> = {
  "risc.sessions-revoked": "sessions",
  "caep.session-revoked": "sessions",
  "oauth.tokens-revoked": "tokens",
  "oauth.token-revoked": "tokens",
  "risc.account-disabled": "account",
  "risc.account-purged": "account",
  "apple.consent-revoked": "account",
  "apple.account-delete": "account",
  "apple.account-deleted": "account",
}
/** The effects from the weakest to the strongest, which includes the others. */
const order: readonly SignalEffect[] = ["none", "sessions", "tokens", "account"]

/** The values of the header `typ` for each kind of token. Without one it is told by its claims alone. */
const types: Readonly<Record<SignalForm, readonly string[]>> = {
  logout: ["logout+jwt", "jwt"],
  event: ["secevent+jwt"],
  apple: ["jwt"],
}

/** What a token states, without what the service does with it. */
type Statement = Omit<Signal, "policy">

type Claims = JWTPayload & Readonly<Record<string, unknown>>

/**
 * Reads what a token states, whose signature, issuer, audience and times are verified. Throws SIGNAL_REFUSED if it breaks a rule
 * of its standard.
 */
export function statementOf(claims: Claims, header: { typ?: string | undefined }, issuer: string): Statement {
  const tokenId = idIn(claims.jti)
  if (tokenId === undefined) throw refused("invalid_request", "the token needs an id in the claim jti")
  const { events } = claims
  const apple = typeof events === "string" ? appleEvent(events) : undefined
  const form = apple !== undefined ? "apple" : isObject(events) && logoutEvent in events ? "logout" : "event"
  const type = header.typ?.toLowerCase().replace(/^application\//, "")
  if (type !== undefined && !types[form].includes(type))
    throw refused("invalid_request", "the header typ is that of another kind of token")
  if (apple !== undefined) return { ...apple, form, tokenId }
  if (!isObject(events)) throw refused("invalid_request", "the token needs the claim events")
  const stated = form === "logout" ? logout(claims, events) : eventOf(claims, events, issuer)
  return { ...stated, form, tokenId }
}

type Stated = Omit<Statement, "form" | "tokenId">

/** OpenID Connect Back-Channel Logout 1.0, section 2.6. */
function logout(claims: Claims, events: Readonly<Record<string, unknown>>): Stated {
  // Otherwise an ID token could be taken for a logout token.
  if ("nonce" in claims) throw refused("invalid_request", "a logout token must not have a nonce")
  if (!isObject(events[logoutEvent])) throw refused("invalid_request", "the event must be an object")
  const [providerSessionId, providerAccountId] = [idIn(claims.sid), idIn(claims.sub)]
  if (providerSessionId === undefined && providerAccountId === undefined)
    throw refused("invalid_request", "a logout token needs the claim sub or sid")
  return { name: "logout", providerSessionId, providerAccountId, effect: "sessions" }
}

/** Security Event Token, RFC 8417, as RISC and CAEP use it. */
function eventOf(claims: Claims, events: Readonly<Record<string, unknown>>, issuer: string): Stated {
  const all = Object.entries(events)
  if (all.length === 0 || all.length > maxEvents)
    throw refused("invalid_request", "the claim events has none, or too many")
  const known = all.map(([type, event]) => {
    const name = nameOf(type)
    return { name, event, effect: effects[name] ?? "none" }
  })
  const [strongest] = known.toSorted((one, other) => order.indexOf(other.effect) - order.indexOf(one.effect))
  const { name, event, effect } = strongest as (typeof known)[number]
  // RFC 9493 has the subject in `sub_id`. Before it, RISC had it in each event, and a plain JWT has `sub`.
  const subject = (isObject(event) ? event.subject : undefined) ?? claims.sub_id
  const isComplex = isObject(subject) && isObject(subject.user)
  const user = isComplex ? subject.user : subject
  const session = isObject(subject) && isObject(subject.session) ? idIn(subject.session.id) : undefined
  return {
    name,
    providerSessionId: effect === "sessions" ? session : undefined,
    providerAccountId: subject === undefined ? idIn(claims.sub) : accountIn(user, issuer),
    effect,
  }
}

/** Returns `risc.account-disabled` of `https://schemas.openid.net/secevent/risc/event-type/account-disabled`. */
function nameOf(type: string): string {
  const [, family, name] = /^([a-z]{1,16})\/event-type\/([a-z-]{1,64})$/.exec(type.replace(eventPrefix, "")) ?? []
  return type.startsWith(eventPrefix) && family !== undefined ? `${family}.${name}` : "other"
}

/** Returns the id of an account of the issuer; undefined if the subject is identified by something else. */
function accountIn(subject: unknown, issuer: string): string | undefined {
  if (!isObject(subject) || typeof subject.iss !== "string") return undefined
  return withoutSlash(subject.iss) === withoutSlash(issuer) ? idIn(subject.sub) : undefined
}

/** Apple: the claim has the event as a text. */
function appleEvent(text: string): Stated {
  const event = parsed(text)
  const type = isObject(event) && typeof event.type === "string" ? event.type : ""
  if (!isObject(event) || !/^[a-z-]{1,64}$/.test(type)) throw refused("invalid_request", "the event is not readable")
  const name = `apple.${type}`
  const effect = effects[name] ?? "none"
  return { name, providerSessionId: undefined, providerAccountId: idIn(event.sub), effect }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function idIn(value: unknown): string | undefined {
  const isId = typeof value === "string" && value !== "" && value.length <= maxIdLength
  return isId && value.isWellFormed() && !value.includes("\0") ? value : undefined
}

/** Google's tokens have a slash at the end of the issuer, which its ID tokens do not have. */
export function withoutSlash(issuer: string): string {
  return issuer.endsWith("/") ? issuer.slice(0, -1) : issuer
}
