import { audit_fields as auditFieldsOption, subject as subjectOption } from "@authwire/proto"
import { type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf"
import { hashSecret } from "./api-key.js"

/** Finds something in the messages of a call. A call that has failed has no response, and one that was rejected no request either. */
type Find<T> = (request: Message | undefined, answer: Message | undefined) => T

/**
 * Returns what finds the users that a call of a method is about (option `subject`), in the form of `shownSubject`. Those of a list are
 * only the ones that the call has processed. Throws if the option names a field that is in neither message.
 */
export function subjectsOf(method: DescMethod): Find<string[]> {
  const path = getOption(method, subjectOption)
  if (path === "") return () => []
  const find = valueAt(method, path)
  return (request, answer) => {
    const found = [find(request, answer)].flat().filter((id) => typeof id === "string" && id !== "") as string[]
    const processed = answer !== undefined && "processed" in answer ? Number(answer.processed) : found.length
    return found.slice(0, processed).map(shownSubject)
  }
}

/**
 * Returns what finds the further fields of a call in the audit (option `audit_fields`): texts as `shownSubject` returns them, and
 * numbers except 0. Throws as `subjectsOf` does.
 */
export function auditFieldsOf(method: DescMethod): Find<Record<string, string | number> | undefined> {
  const fields = getOption(method, auditFieldsOption).map((path) => ({
    name: path.replaceAll(".", "_"),
    find: valueAt(method, path),
  }))
  return (request, answer) => {
    const values = fields.map(({ name, find }) => [name, shown(find(request, answer))] as const)
    const known = values.filter((value): value is [string, string | number] => value[1] !== undefined)
    return known.length === 0 ? undefined : Object.fromEntries(known)
  }
}

/** Returns what finds the value at a path of the request or, if that has no such field, of the response. */
function valueAt(method: DescMethod, path: string): Find<unknown> {
  const steps = path.split(".")
  const inRequest = localPath(method.input, steps)
  const names = inRequest ?? localPath(method.output, steps)
  if (names === undefined) throw new Error(`${method.parent.typeName}/${method.name}: nothing is at ${path}`)
  return (request, answer) => {
    let value: unknown = inRequest === undefined ? answer : request
    for (const name of names) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
      value = (value as Record<string, unknown>)[name]
    }
    return value
  }
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
