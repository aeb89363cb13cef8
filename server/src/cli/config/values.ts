import { z } from "zod"
import { certificateNameForm, isKeyName, parseDate, tenantName } from "../../auth/key-fields.js"
import { eventKinds } from "../../store/event-kinds.js"
import type { EventKind } from "../../store/types.js"
import type { Address } from "../../transport/address.js"
import { InvalidValueError } from "../../util/invalid-value-error.js"

// What the value of an option may be: read from text, with one rule each for what is wrong. Every message is one of ours.
// It says the rule, and does not repeat the text where that may be a secret.

/** What `--help` and docs/configuration.md tell of a value. */
export const shown = z.registry<{
  /** What stands in for it in the help. */
  placeholder?: string | undefined
  /** What it may be, as a sentence. */
  allowed?: string
}>()

/** Any text. Without a placeholder, it is for what has no flag. */
export const text = (placeholder?: string) => z.string().register(shown, { placeholder })

/** A flag that is there, or a variable that says so. */
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

/** As `toLocaleString("en")`, which takes longer than everything else of `authwire --help`. */
const withCommas = (number: number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",")

export const choice = <const T extends string>(choices: readonly T[], placeholder = choices.join("|")) =>
  z
    .enum(choices, { error: `must be one of ${choices.join(", ")}` })
    .register(shown, { placeholder, allowed: `One of ${choices.join(", ")}.` })

/** A share, from none to all. */
export const ratio = () =>
  matching((text) => /^(?:0|1|[01]?\.\d+|1\.0+)$/.test(text) && Number(text) <= 1, "must be a number from 0 to 1")
    .transform(Number)
    .register(shown, { allowed: "From 0 to 1." })

/** A URL of another service. It is shown in errors, so it must hold no password. */
export const httpUrl = () =>
  matching((text) => {
    const url = URL.parse(text)
    return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
  }, "must be a URL that begins with http:// or https://, without a user name and password")

/** Names and values, as OpenTelemetry writes them: percent-encoded, `NAME=VALUE,NAME=VALUE`. */
export const pairs = () =>
  read((list) => {
    const pairs = list.split(",").flatMap((item): [name: string, value: string][] => {
      if (item.trim() === "") return []
      const [, name, value] = /^\s*([!-<>-~]+?)\s*=(.*)$/.exec(item) ?? []
      if (name === undefined || value === undefined) throw new InvalidValueError(pairsRule)
      try {
        return [[decodeURIComponent(name), decodeURIComponent(value.trim())]]
      } catch {
        throw new InvalidValueError(pairsRule)
      }
    })
    return Object.fromEntries(pairs)
  })

const pairsRule = "must be NAME=VALUE, separated by commas, with what is no plain character as %XX"

/** Where to listen; undefined for `off`. */
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

/** Where the audit log goes: a file, or standard error if that is undefined. */
export const auditLog = () =>
  z
    .string()
    .transform((text) => (text === "off" ? "off" : { file: text === "stderr" ? undefined : text }))
    .register(shown, { placeholder: "FILE" })

/** Calls a second, by `Service.Method`. */
export const rates = () =>
  readBySchema(async () => (await import("../../rpc/interceptors/rates.js")).readRates).register(shown, {
    placeholder: "LIST",
  })

/** Keys of 32 bytes each, in Base64. */
export const encryptionKeys = () =>
  read((list) => {
    if (list.trim() === "") return []
    return list.split(",").map((item, index) => {
      const text = item.trim()
      const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64")
      // Buffer.from passes over what is no Base64.
      if (!/^[\w+/-]+=*$/.test(text) || key.length !== 32) {
        throw new InvalidValueError(
          `key ${index + 1} must be 32 bytes, in Base64 or hexadecimal (openssl rand -base64 32)`,
        )
      }
      return key.toString("base64")
    })
  })

/** A list of keys in JSON that is known to be well formed, as it was given. */
export const staticKeys = () =>
  readBySchema(async () => {
    const { parseStaticKeys } = await import("../../auth/static-keys.js")
    return (text: string) => {
      if (text.trimStart().startsWith("awk_")) {
        throw new InvalidValueError(
          "must be a list in JSON, and not a key; a key is AUTHWIRE_API_KEY, for its application",
        )
      }
      parseStaticKeys(text)
      return text
    }
  })

/** Whether it is there; what it is is a secret, and of no use here. */
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
    const { scopes, unknownScope } = await import("../../auth/scopes.js")
    return (text: string | undefined) => {
      const list = [...new Set((text ?? "").split(",").map((one) => one.trim()))]
      if (unknownScope(list) === undefined) return list
      throw new InvalidValueError(`must be one or more of these, separated by commas: ${["all", ...scopes].join(", ")}`)
    }
  }).register(shown, { placeholder: "a,b|all" })

export const tenant = () =>
  matching((text) => tenantName.test(text), "must be 1 to 63 of a-z, 0-9 and -, and not begin with -").register(shown, {
    placeholder: "NAME",
  })

/** Kinds of events. */
export const eventKindList = () => {
  const rule = `must be one or more of these, separated by commas: ${eventKinds.join(", ")}`
  const isKind = (text: string): text is EventKind => eventKinds.some((kind) => kind === text)
  return z
    .string(rule)
    .transform((text) => text.split(",").map((one) => one.trim()))
    .refine((list): list is EventKind[] => list.every(isKind), rule)
    .register(shown, { placeholder: "a,b" })
}

export const certificateName = () =>
  matching(
    (text) => certificateNameForm.test(text),
    "must be a name as certificates have it, such as DNS:app.internal",
  ).register(shown, { placeholder: "DNS:NAME" })

/** A span of time, in milliseconds: 0, or from `min` to `max`, both as they are written. */
export const duration = (min: string, max: string) => {
  const inMs = (text: string) => {
    const [, count, unit = ""] = /^(\d{1,6})([dhms])$/.exec(text) ?? []
    return text === "0" ? 0 : Number(count) * (units[unit] ?? Number.NaN)
  }
  return matching(
    (text) => text === "0" || (inMs(text) >= inMs(min) && inMs(text) <= inMs(max)),
    `must be 0, or a time from ${min} to ${max}, such as 90s, 15m, 12h or 7d`,
  )
    .transform(inMs)
    .register(shown, { placeholder: "15m|12h|7d", allowed: `0, or from ${min} to ${max}.` })
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }

/** A time that lies ahead, from now or as a date. */
export const expiry = () =>
  read((text) => {
    const now = Date.now()
    const [, count, unit = ""] = /^([1-9]\d{0,5})([dhms])$/.exec(text) ?? []
    const date = count === undefined ? parseDate(text) : new Date(now + Number(count) * (units[unit] ?? 0))
    if (date === undefined) {
      throw new InvalidValueError("must be a time from now, such as 90d, 12h, 30m or 45s, or a date of ISO 8601")
    }
    if (date.getTime() <= now) throw new InvalidValueError("must lie in the future")
    return date
  }).register(shown, { placeholder: "90d|12h|DATE" })

/** A text that passes a test. */
function matching(isRight: (text: string) => boolean, rule: string) {
  return z.string(rule).refine(isRight, rule)
}

/** What a function makes of a text; an InvalidValueError says the rule. */
function read<T>(make: (text: string) => T) {
  return z.string().transform((text, context) => made(make, text, context))
}

/**
 * The same by a function that goes by the schema. That is loaded only for whom such an option is given: it takes longer than all
 * that most commands do. Where the option is required and lacks, the function gets undefined.
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
