import { type Failure, invalidField } from "../errors/failure.js"
import type { EverySessionOption } from "../introspection/request-session.js"

/** The policy of a route. */
export interface Policy {
  /** Whether a request without a session is forwarded. */
  readonly isOptional: boolean
  /** The user must have one of these roles. An empty list accepts every user. */
  readonly roles: readonly string[]
  /** The properties of a user's `extra`, or the claims of a JWT, that hold the user's roles. */
  readonly roleProperties: readonly string[]
  /** The sign-in page, as a URL or as a path of the same host; undefined: no redirect. */
  readonly signIn: string | undefined
  /** Whether a CORS preflight request is forwarded without a session. */
  readonly forwardsPreflights: boolean
  /** How the session is found. The session of a JWT has its user by default if the route requires roles. */
  readonly session: EverySessionOption
  /** The headers for the application besides the ids of the user and the session. */
  readonly headers: readonly HeaderRule[]
  /** The backend for which a signed assertion of the user's identity is added; undefined: none is. */
  readonly audience: string | undefined
}

/** A header for the application, and the property of the user whose value it has. */
export interface HeaderRule {
  readonly name: string
  readonly property: string
}

/** The settings of a proxy, by name. */
export type Settings = Readonly<Record<string, string>>

/** The maximum total length of the values of all settings, in characters. */
const maxLength = 8_192

/**
 * Reads the policy of a route. Every wrong setting is an error, because a misspelt setting could be the one that
 * restricts access.
 *
 * @param tenant The tenant of the API key, the only one that the setting `tenant` may name.
 * @throws INVALID_FIELD, with the name of the setting and its rule, never with its value
 */
export function readPolicy(settings: Settings, tenant: string): Policy {
  let length = 0
  for (const [name, value] of Object.entries(settings)) {
    if (!isSetting(name)) throw wrongSetting(`contains a setting that is not one of ${settingNames.join(", ")}`)
    length += value.length
  }
  if (length > maxLength) throw wrongSetting(`must not be longer than ${maxLength} characters`)
  const read = <T, U = T>(
    name: Setting,
    reader: (text: string) => T | undefined,
    otherwise: U,
    rule: string,
  ): T | U => {
    const text = Object.hasOwn(settings, name) ? settings[name] : undefined
    if (text === undefined) return otherwise
    const value = reader(text)
    if (value === undefined) throw wrongSetting(`${name} must be ${rule}`)
    return value
  }
  read("tenant", (text) => (text === tenant ? text : undefined), tenant, "the tenant of the API key")
  const isOptional = read("policy", oneOf({ required: false, optional: true }), false, "required or optional")
  const roles = read("roles", readList, [], "a list of 1 to 64 roles separated by commas")
  const roleProperties = read(
    "role_property",
    (text) => (isProperty(text) ? [text] : undefined),
    ["role", "roles"],
    "the name of a property, 1 to 64 letters, digits or any of _ . : / -",
  )
  if (isOptional && roles.length > 0) throw wrongSetting("roles needs policy to be required")
  const isSigned = read("identity", oneOf({ jwt: true }), false, "jwt")
  const audience = read("audience", readText, undefined, "a text of 1 to 256 bytes")
  if (isSigned !== (audience !== undefined)) throw wrongSetting("identity and audience need each other")
  return {
    isOptional,
    roles,
    roleProperties,
    signIn: read("sign_in", readSignIn, undefined, "an http or https URL, or a path, without a fragment"),
    forwardsPreflights: read("preflight", oneOf({ check: false, forward: true }), false, "check or forward"),
    session: {
      cookieName: read("cookie_name", readCookie, undefined, "the name of a cookie, of 1 to 256 characters"),
      secureCookie: read("secure_cookie", oneOf(flags), undefined, "true or false"),
      salt: read("salt", readText, undefined, "a text of 1 to 256 bytes"),
      strategy: read("strategy", oneOf(strategies), undefined, "database or jwt"),
      withUser: read("with_user", oneOf(flags), roles.length > 0 ? true : undefined, "true or false"),
      userIdClaim: read("user_id_claim", readText, undefined, "a text of 1 to 256 bytes"),
      nextAuth4: read("next_auth4", oneOf(flags), undefined, "true or false"),
    },
    headers: read(
      "headers",
      readHeaders,
      [],
      "a list of 1 to 16 x-auth-NAME=PROPERTY separated by commas, each name once and none of x-auth-user-id, x-auth-session-id",
    ),
    audience,
  }
}

/** The settings. Those that find the session have the names of the fields of IntrospectRequest. */
export const settingNames = [
  ...(["tenant", "policy", "roles", "role_property", "sign_in", "preflight", "headers"] as const),
  ...(["identity", "audience"] as const),
  ...(["cookie_name", "secure_cookie", "salt", "strategy", "with_user", "user_id_claim", "next_auth4"] as const),
]
type Setting = (typeof settingNames)[number]

function isSetting(name: string): name is Setting {
  return (settingNames as readonly string[]).includes(name)
}

const flags = { true: true, false: false }
const strategies = { database: "database", jwt: "jwt" } as const

/** Creates the failure of a request with a wrong setting. */
export function wrongSetting(description: string): Failure {
  return invalidField(settingsField, description)
}

/** The field that an error about a setting names. */
export const settingsField = "attributes.context_extensions"

function oneOf<T>(values: Readonly<Record<string, T>>): (text: string) => T | undefined {
  return (text) => (Object.hasOwn(values, text) ? values[text] : undefined)
}

function readText(text: string): string | undefined {
  const bytes = Buffer.byteLength(text)
  return bytes < 1 || bytes > 256 ? undefined : text
}

function readList(text: string): string[] | undefined {
  const list = text.split(",").map((one) => one.trim())
  return list.length > 64 || list.includes("") ? undefined : list
}

function isProperty(text: string): boolean {
  return /^[\w.:/-]{1,64}$/.test(text)
}

function readCookie(text: string): string | undefined {
  // The characters of a token (RFC 9110, section 5.6.2).
  return /^[\w!#$%&'*+.^`|~-]{1,256}$/.test(text) ? text : undefined
}

// Browsers take the text after two slashes at the beginning of a path for a host.
function readSignIn(text: string): string | undefined {
  if (!/^[\x21-\x7e]{1,2048}$/.test(text) || text.includes("#") || text.includes("\\")) return undefined
  if (text.startsWith("/")) return text.startsWith("//") ? undefined : text
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined
}

function readHeaders(text: string): HeaderRule[] | undefined {
  const rules: HeaderRule[] = []
  for (const one of readList(text) ?? []) {
    const [, name = "", property = ""] = /^(x-auth-[a-z0-9-]{1,57})=(.*)$/.exec(one) ?? []
    const isKnown = ownHeaders.includes(name) || rules.some((rule) => rule.name === name)
    if (name === "" || isKnown || !isProperty(property)) return undefined
    rules.push({ name, property })
  }
  return rules.length === 0 || rules.length > 16 ? undefined : rules
}

/** The headers for the id of the user, for the handle of the session, and for the signed assertion of both. */
export const userIdHeader = "x-auth-user-id"
export const sessionIdHeader = "x-auth-session-id"
export const identityHeader = "x-authwire-identity"
export const ownHeaders: readonly string[] = [userIdHeader, sessionIdHeader, identityHeader]
