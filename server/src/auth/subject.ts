import { subject as subjectOption, told as toldOption } from "@authwire/proto"
import { type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { hashSecret } from "./api-key.js"

/** Finds whose data a call is about: a user, or several; undefined where a message does not say. */
export type Subject = (message: Message) => string | readonly string[] | undefined

/**
 * Where the request or, if it has no such field, the answer of a method says whose data it is about (option `subject`);
 * undefined for a method that is about nobody. Throws if the option names a field that is in neither.
 */
export function subjectOf(method: DescMethod): { in: "request" | "answer"; find: Subject } | undefined {
  const path = getOption(method, subjectOption)
  if (path === "") return undefined
  const { in: where, find } = pathOf(method, path)
  return { in: where, find: (message) => textsOf(find(message)) }
}

/** What else the audit log says of a call (option `told`), by the name that it has there. */
export interface Told {
  in: "request" | "answer"
  name: string
  /** A text is shown as a subject is, a number as it is; undefined where the message has none, or 0. */
  find(message: Message): string | number | undefined
}

/** What else the audit log says of the calls of a method. Throws if the option names a field that is nowhere. */
export function toldOf(method: DescMethod): Told[] {
  return getOption(method, toldOption).map((path) => {
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

/** How a subject stands in the log: an id may be an e-mail address, and what could be one is only shown by its hash. */
export function shownSubject(id: string): string {
  return /^[A-Za-z0-9_.:-]{1,128}$/.test(id) ? id : `sha256:${hashSecret(id).toString("hex").slice(0, 16)}`
}

/** The path as messages have it; undefined if it leads nowhere. A Struct may have any property. */
function localPath(message: DescMessage, [name, ...rest]: string[]): string[] | undefined {
  const field = message.fields.find((one) => one.name === name)
  if (field === undefined) return undefined
  if (rest.length === 0)
    return field.fieldKind === "scalar" || field.fieldKind === "list" ? [field.localName] : undefined
  if (field.fieldKind !== "message") return undefined
  const inside = field.message.typeName === "google.protobuf.Struct" ? rest : localPath(field.message, rest)
  return inside === undefined ? undefined : [field.localName, ...inside]
}
