import type { JsonValue } from "@bufbuild/protobuf"
import { maxJsonDepth } from "../util/json.js"

/** A part of a value that violates a rule. */
export interface JsonFault {
  /** The path from the value to the part: `.role`, `.a[0].b`, empty for the value itself. */
  readonly path: string
  readonly rule: string
}

/**
 * Returns the first part of a value that a google.protobuf.Struct cannot carry to every client: deep nesting, numbers
 * that are not finite, text that is not Unicode. UTF-8 has no lone surrogates, so encoding would replace them.
 */
export function jsonFault(value: JsonValue, depth = 1): JsonFault | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : notUnicode
  if (typeof value === "number") return Number.isFinite(value) ? undefined : notFinite
  if (typeof value !== "object" || value === null) return undefined
  if (depth > maxJsonDepth) return tooDeep
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

const notUnicode = { path: "", rule: "must be well-formed Unicode" }
const nameNotUnicode = { path: "", rule: "must have names of well-formed Unicode" }
const notFinite = { path: "", rule: "must be a finite number" }
const tooDeep = { path: "", rule: `must not be nested deeper than ${maxJsonDepth} levels` }

/** Returns whether a name looks like an identifier. Another may be an address or token, which no error may contain. */
function isPropertyName(name: string): boolean {
  return /^[a-z_$][\w$-]{0,31}$/i.test(name)
}
