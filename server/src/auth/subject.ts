import { audit_fields as auditFieldsOption, subject as subjectOption } from "@authwire/proto"
import { type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { hashSecret } from "./api-key.js"

/** Returns the id of the user that a call is about, or several ids; undefined if the message has none. */
export type Subject = (message: Message) => string | readonly string[] | undefined

/**
 * Returns where the user that a call is about is named (option `subject`): in the request or, if it has no such field,
 * in the response. Returns undefined for a method that is about no user. Throws if the option names a field that is in
 * neither.
 */
export function subjectOf(method: DescMethod): { in: "request" | "answer"; find: Subject } | undefined {
  const path = getOption(method, subjectOption)
  if (path === "") return undefined
  const { in: where, find } = pathOf(method, path)
  return { in: where, find: (message) => textsOf(find(message)) }
}

/** A further field of a call's entry in the audit log (option `audit_fields`). */
export interface AuditField {
  in: "request" | "answer"
  name: string
  /** Returns a text as `shownSubject` does, a number unchanged, and undefined for no value or 0. */
  find(message: Message): string | number | undefined
}

/** Returns the further audit log fields of a method. Throws if the option names a field that does not exist. */
export function auditFieldsOf(method: DescMethod): AuditField[] {
  return getOption(method, auditFieldsOption).map((path) => {
    const { in: where, find } = pathOf(method, path)
    return { in: where, name: path.replaceAll(".", "_"), find: (message) => shown(find(message)) }
  })
}

function pathOf(method: DescMethod, path: string) {
  const steps = path.split(".")
  const inRequest = localPath(method.input, steps)
  const names = inRequest ?? localPath(method.output, steps)
  if (names === undefined) throw new Error(`${method.parent.typeName}/${method.name}: nothing is at ${path}`)
  const find = (message: Message) => {
    let value: unknown = message
    for (const name of names) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
      value = (value as Record<string, unknown>)[name]
    }
    return value
  }
  return { in: inRequest === undefined ? ("answer" as const) : ("request" as const), find }
}

function textsOf(value: unknown): string | string[] | undefined {
  if (Array.isArray(value)) return value.filter((one) => typeof one === "string")
  return typeof value === "string" && value !== "" ? value : undefined
}

function shown(value: unknown): string | number | undefined {
  if (typeof value === "string" && value !== "") return shownSubject(value)
  const number = typeof value === "bigint" || typeof value === "number" ? Number(value) : 0
  return number === 0 ? undefined : number
}

/** Returns the form of a subject in the log. An id that could be an e-mail address is replaced by its hash. */
export function shownSubject(id: string): string {
  return /^[A-Za-z0-9_.:-]{1,128}$/.test(id) ? id : `sha256:${hashSecret(id).toString("hex").slice(0, 16)}`
}

/** Converts a path to property names of messages; undefined if it does not exist. A Struct may have any property. */
function localPath(message: DescMessage, [name, ...rest]: string[]): string[] | undefined {
  const field = message.fields.find((one) => one.name === name)
  if (field === undefined) return undefined
  if (rest.length === 0)
    return field.fieldKind === "scalar" || field.fieldKind === "list" ? [field.localName] : undefined
  if (field.fieldKind !== "message") return undefined
  const inside = field.message.typeName === "google.protobuf.Struct" ? rest : localPath(field.message, rest)
  return inside === undefined ? undefined : [field.localName, ...inside]
}
