import { subject as subjectOption } from "@authwire/proto"
import { type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { hashSecret } from "./api-key.js"

/** Finds whose data a call is about; undefined where a message does not say. */
export type Subject = (message: Message) => string | undefined

/**
 * Where the request or, if it has no such field, the answer of a method says whose data it is about (option `subject`);
 * undefined for a method that is about nobody. Throws if the option names a field that is in neither.
 */
export function subjectOf(method: DescMethod): { in: "request" | "answer"; find: Subject } | undefined {
  const path = getOption(method, subjectOption)
  if (path === "") return undefined
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
    return typeof value === "string" && value !== "" ? value : undefined
  }
  return { in: inRequest === undefined ? "answer" : "request", find }
}

/** How a subject stands in the log: an id may be an e-mail address, and what could be one is only shown by its hash. */
export function shownSubject(id: string): string {
  return /^[A-Za-z0-9_.:-]{1,128}$/.test(id) ? id : `sha256:${hashSecret(id).toString("hex").slice(0, 16)}`
}

/** The path as messages have it; undefined if it leads nowhere. A Struct may have any property. */
function localPath(message: DescMessage, [name, ...rest]: string[]): string[] | undefined {
  const field = message.fields.find((one) => one.name === name)
  if (field === undefined) return undefined
  if (rest.length === 0) return field.fieldKind === "scalar" ? [field.localName] : undefined
  if (field.fieldKind !== "message") return undefined
  const inside = field.message.typeName === "google.protobuf.Struct" ? rest : localPath(field.message, rest)
  return inside === undefined ? undefined : [field.localName, ...inside]
}
