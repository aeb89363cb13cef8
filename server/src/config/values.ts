import type { JsonObject } from "@bufbuild/protobuf"
import { z } from "zod"
import { certificateNameForm, isKeyName, parseDate, tenantName } from "../auth/key-fields.js"
import { scopePresets, withoutPresets } from "../auth/scope-presets.js"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { eventKinds } from "../store/event-kinds.js"
import type { EventKind } from "../store/types.js"
import type { Address } from "../util/address.js"
import { isObject, parsedJson } from "../util/json.js"
import { networkOf } from "../webhooks/networks.js"

// The parsers of option values. Each parses a text and has one rule per kind of error. All error messages are defined
// by this project. They state the rule, and do not repeat the text if it may be a secret.

/** The facts about a value that `--help` and docs/configuration.md show. */
export const shown = z.registry<{
  /** The placeholder of the value in the help. */
  placeholder?: string | undefined
  /** The allowed values, as a sentence. */
  allowed?: string
}>()

/** Any text. The placeholder is omitted for options without a flag. */
export const text = (placeholder?: string) => z.string().register(shown, { placeholder })

/** A boolean: true if the flag is present, or as the variable says. */
export const boolean = () =>
  z.stringbool({
    truthy: ["true", "1", "on"],
    falsy: ["false", "0", "off"],
    case: "sensitive",
    error: "must be true or false",
  })

export const integer = (min: number, max: number) =>
  matching(
    (text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
    `must be a whole number from ${min} to ${max}`,
  )
    .transform(Number)
    .register(shown, {
      placeholder: "N",
      allowed: `From ${withCommas(min)} to ${withCommas(max)}.`,
    })

/** The same as `toLocaleString("en")`, which takes longer than everything else that `authwire --help` does. */
const withCommas = (number: number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",")

export const choice = <const T extends string>(choices: readonly T[], placeholder = choices.join("|")) =>
  z
    .enum(choices, { error: `must be one of ${choices.join(", ")}` })
    .register(shown, { placeholder, allowed: `${choices.length === 1 ? "Only" : "One of"} ${choices.join(", ")}.` })

/** A ratio from 0 to 1. */
export const ratio = () =>
  matching((text) => /^(?:0|1|[01]?\.\d+|1\.0+)$/.test(text) && Number(text) <= 1, "must be a number from 0 to 1")
    .transform(Number)
    .register(shown, { allowed: "From 0 to 1." })

/** The URL of another service. It must not contain a password, because it is shown in errors. */
export const httpUrl = (placeholder?: string) =>
  matching((text) => {
    if (!URL.canParse(text)) return false
    const url = new URL(text)
    return /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
  }, "must be a URL that begins with http:// or https://, without a user name and password").register(shown, {
    placeholder,
  })

/** The URL of this service as an issuer, to which more is appended. Returns it without slashes at its end. */
export const issuer = () =>
  matching((text) => {
    if (!URL.canParse(text)) return false
    const { protocol, username, password, search, hash } = new URL(text)
    return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "")
  }, "must be a URL that begins with http:// or https://, without a user name, a query and a fragment")
    .transform((text) => text.replace(/\/+$/, ""))
    .register(shown, { placeholder: "URL" })

/** The address of a listener; undefined for `off`. */
export const address = () =>
  read((text): Address | undefined => {
    if (text === "off") return undefined
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text)
    const host = match?.[1] ?? match?.[2]
    const port = Number(match?.[3])
    if (host === undefined || port > 65_535) {
      throw new InvalidValueError("must be HOST:PORT with a port from 0 to 65535, [IPv6]:PORT, or off")
    }
    return { host, port }
  }).register(shown, { placeholder: "HOST:PORT" })

/** The destination of the audit log: a file; undefined for standard error. */
export const auditLog = () =>
  z
    .string()
    .transform((text) => (text === "off" ? "off" : { file: text === "stderr" ? undefined : text }))
    .register(shown, { placeholder: "FILE" })

/** Calls per second, by `Service.Method`. */
export const rates = () =>
  readBySchema(async () => (await import("../rpc/interceptors/rate-limit.js")).readRates).register(shown, {
    placeholder: "LIST",
  })

/** Addresses, and ranges of them in CIDR notation. */
export const networks = () =>
  read((list) => {
    const texts = list.split(",").map((one) => one.trim())
    for (const [index, text] of texts.entries()) {
      if (networkOf(text) !== undefined) continue
      throw new InvalidValueError(
        `entry ${index + 1} must be an IP address, or a range such as 10.1.0.0/16 or fd00::/8`,
      )
    }
    return texts
  }).register(shown, { placeholder: "LIST" })

/** Keys of 32 bytes each. Accepts Base64 and hexadecimal, returns Base64. */
export const encryptionKeys = () =>
  read((list) => {
    if (list.trim() === "") return []
    return list.split(",").map((item, index) => {
      const text = item.trim()
      const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64")
      // Buffer.from skips invalid Base64 characters.
      if (!/^[\w+/-]+=*$/.test(text) || key.length !== 32) {
        throw new InvalidValueError(
          `key ${index + 1} must be 32 bytes, in Base64 or hexadecimal (openssl rand -base64 32)`,
        )
      }
      return key.toString("base64")
    })
  })

/** A list of keys in JSON, returned unchanged after it was checked. */
export const staticKeys = () =>
  readBySchema(async () => {
    const { parseStaticKeys } = await import("../auth/static-keys.js")
    return (text: string) => {
      if (text.trimStart().startsWith("awk_")) {
        throw new InvalidValueError(
          "must be a JSON array, and not a key; a single key belongs in AUTHWIRE_API_KEY of its application",
        )
      }
      parseStaticKeys(text)
      return text
    }
  })

/** Whether the key is set. Its value is a secret that the service does not use. */
export const applicationKey = () =>
  matching(
    (text) => !text.trimStart().startsWith("["),
    "is the key of one application, which the service does not read; a list of keys is AUTHWIRE_API_KEYS",
  ).transform(() => true)

export const keyName = () =>
  matching(isKeyName, "is required: 1 to 255 characters, none of them a control character").register(shown, {
    placeholder: "NAME",
  })

export const scopes = () =>
  readBySchema(async () => {
    const { areScopes, scopes } = await import("../auth/scopes.js")
    return (text: string | undefined) => {
      const list = withoutPresets((text ?? "").split(",").map((one) => one.trim()))
      if (areScopes(list)) return list
      const names = [...scopePresets.map(({ name }) => name), "all", ...scopes]
      // A name that has not the form of one may be a secret that was given by mistake.
      const unknown = list.filter((one) => !names.includes(one) && /^[a-z-]{1,20}(:[a-z-]{1,20})?$/.test(one))
      const which = unknown.length > 0 ? `, and not ${unknown.join(", ")}` : ""
      throw new InvalidValueError(`must be one or more of these, separated by commas${which}: ${names.join(", ")}`)
    }
  }).register(shown, { placeholder: "a,b|all|PRESET" })

/** An e-mail address, or nothing. The service takes any text; a person who types one without `@` has made a mistake. */
export const emailAddress = () =>
  matching((text) => text === "" || /\S@\S/.test(text), "must be an e-mail address, such as ada@example.com").register(
    shown,
    { placeholder: "ADDRESS" },
  )

export const tenant = () =>
  matching(
    (text) => tenantName.test(text),
    "must be 1 to 63 characters of a-z, 0-9 and -, and not begin with -",
  ).register(shown, {
    placeholder: "NAME",
  })

/** Kinds of events. @param all the word for all kinds, for which the list is empty */
export const eventKindList = (all?: string) => {
  const rule = `must be ${all === undefined ? "" : `${all}, or `}one or more of these, separated by commas: ${eventKinds.join(", ")}`
  return read((text) => {
    if (text === all) return []
    const kinds = text.split(",").map((one) => eventKinds.find((kind) => kind === one.trim()))
    if (kinds.includes(undefined)) throw new InvalidValueError(rule)
    return kinds as EventKind[]
  }).register(shown, { placeholder: all === undefined ? "a,b" : `a,b|${all}` })
}

export const certificateName = () =>
  matching(
    (text) => certificateNameForm.test(text),
    "must be a subject alternative name of a certificate with its type, such as DNS:app.internal",
  ).register(shown, { placeholder: "DNS:NAME" })

/** A duration, in milliseconds: 0, or from `min` to `max`, both in the option's notation. */
export const duration = (min: string, max: string) => {
  const [least, most] = [inMs(min), inMs(max)] as const
  return matching(
    (text) => text === "0" || (inMs(text) >= least && inMs(text) <= most),
    `must be 0, or a time from ${min} to ${max}, such as 90s, 15m, 12h or 7d`,
  )
    .transform(inMs)
    .register(shown, { placeholder: "15m|12h|7d", allowed: `0, or from ${min} to ${max}.` })
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }

/** Returns the milliseconds of a duration such as `15m`; NaN for other texts. */
function inMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([dhms])$/.exec(text) ?? []
  return text === "0" ? 0 : Number(count) * (units[unit] ?? Number.NaN)
}

/** A time in the future, relative to now or as a date. */
export const expiry = () =>
  read((text) => {
    const now = Date.now()
    const ms = inMs(text)
    const date = Number.isNaN(ms) ? parseDate(text) : new Date(now + ms)
    if (date === undefined) {
      throw new InvalidValueError("must be a duration from now, such as 90d, 12h, 30m or 45s, or an ISO 8601 date")
    }
    if (date.getTime() <= now) throw new InvalidValueError("must lie in the future")
    return date
  }).register(shown, { placeholder: "90d|12h|DATE" })

/** A value of which 0 means none, and is also written so, as commands print it. */
export const orNone = (value: z.ZodType<number, string>) =>
  z
    .string()
    .transform((text) => (text === "none" ? "0" : text))
    .pipe(value)
    .register(shown, { ...shown.get(value), placeholder: `${shown.get(value)?.placeholder}|none` })

/** A JSON object. */
export const jsonObject = () =>
  read((text) => {
    const value = parsedJson(text)
    if (isObject(value)) return value as JsonObject
    throw new InvalidValueError('must be a JSON object, such as {"role": "editor"}')
  }).register(shown, { placeholder: "JSON" })

/** A time, or `now`; null for an empty text. */
export const timeOrNothing = () =>
  read((text) => {
    if (text === "") return null
    const date = text === "now" ? new Date() : parseDate(text)
    if (date === undefined) throw new InvalidValueError("must be now, an ISO 8601 date, or empty")
    return date
  }).register(shown, { placeholder: "now|DATE" })

/** A text for which `isRight` returns true. */
function matching(isRight: (text: string) => boolean, rule: string) {
  return z.string(rule).refine(isRight, rule)
}

/** The result of a function for a text. An InvalidValueError from it states the violated rule. */
function read<T>(make: (text: string) => T) {
  return z.string().transform((text, context) => made(make, text, context))
}

/**
 * The same with a function that depends on the API schema. It is loaded only if such an option is given, because
 * loading it takes longer than everything that most commands do. If the option is required and missing, the function
 * gets undefined.
 */
function readBySchema<T>(load: () => Promise<(text: string) => T>) {
  return z.custom<string>().transform(async (text, context) => made(await load(), text, context))
}

function made<T>(make: (text: string) => T, text: string, context: z.RefinementCtx): T {
  try {
    return make(text)
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error
    context.issues.push({ code: "custom", message: error.message, input: undefined })
    return z.NEVER
  }
}
