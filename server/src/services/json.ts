import type { JsonValue } from "@bufbuild/protobuf"
import { Failure } from "../rpc/errors.js"

/**
 * How many objects and arrays may stand in each other, the outermost included. Readers of protobuf stop at 100 messages
 * in each other, and an object in an object costs three: a client in Java, Python or Rust could not read what is deeper.
 */
const maxDepth = 32

/** Which part of a value breaks which rule. */
export interface JsonFault {
  /** How to get there from the value: `.role`, `.a[0].b`, empty for the value itself. */
  readonly path: string
  readonly rule: string
}

/**
 * What a google.protobuf.Struct cannot carry to every reader, the first of it: deep nesting, numbers that are not finite,
 * text that is not Unicode. UTF-8 has no lone surrogates, so they would turn into another character on the way.
 */
export function jsonFault(value: JsonValue, depth = 1): JsonFault | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : notUnicode
  if (typeof value === "number") return Number.isFinite(value) ? undefined : notFinite
  if (typeof value !== "object" || value === null) return undefined
  if (depth > maxDepth) return tooDeep
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = jsonFault(value[index] as JsonValue, depth + 1)
      if (fault !== undefined) return { ...fault, path: `[${index}]${fault.path}` }
    }
    return undefined
  }
  for (const name in value) {
    if (!name.isWellFormed()) return nameNotUnicode
    const fault = jsonFault(value[name] as JsonValue, depth + 1)
    if (fault !== undefined)
      return isPropertyName(name) ? { ...fault, path: `.${name}${fault.path}` } : { ...fault, path: "" }
  }
  return undefined
}

/**
 * Rejects a value that has such a fault.
 *
 * @param field - the field of the request that holds it
 */
export function checkJson(value: JsonValue, field: string): void {
  const fault = jsonFault(value)
  if (fault === undefined) return
  throw new Failure("INVALID_FIELD", { violations: [{ field: field + fault.path, description: fault.rule }] })
}

const notUnicode = { path: "", rule: "must be well-formed Unicode" }
const nameNotUnicode = { path: "", rule: "must have names of well-formed Unicode" }
const notFinite = { path: "", rule: "must be a finite number" }
const tooDeep = { path: "", rule: `must not be nested deeper than ${maxDepth} levels` }

/** Whether a name is a programmer's. Any other may be an address or a token, and an error does not repeat those. */
function isPropertyName(name: string): boolean {
  return /^[a-z_$][\w$-]{0,31}$/i.test(name)
}
