import { isObject } from "../util/json.js"

/** The members of a token endpoint's answer, as they were sent. */
export type Members = Readonly<Record<string, unknown>>

/** Members that are tokens. As a number of JSON they are read as their digits, because a double would round them. */
const tokenMembers: ReadonlySet<string> = new Set(["access_token", "refresh_token", "id_token"])

/** Members of which an answer in the form of a URL query has at least one. */
const formMembers = [...tokenMembers, "error"]

/**
 * Reads the members of an answer: a JSON object, with or without a byte-order mark, or a form, whatever the content
 * type says. Returns undefined if it is neither.
 */
export function membersOf(body: Uint8Array): Members | undefined {
  // The decoder removes a byte-order mark.
  const text = new TextDecoder().decode(body).trim()
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
  const form = new URLSearchParams(text)
  return formMembers.some((name) => form.has(name)) ? Object.fromEntries(form) : undefined
}
