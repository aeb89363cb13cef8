import type { DescMessage } from "@bufbuild/protobuf"
import { createValidator, type Violation } from "@bufbuild/protovalidate"
import { Failure, type FieldViolation, invalidField } from "../../errors/failure.js"
import { withShallowStructs } from "../encoded-structs.js"
import type { Interceptor } from "../interceptor.js"

/** The largest number of violations in an error. They travel in a header, and each entry of a list may cause one. */
const maxViolations = 20
/** The largest number of parts of a request, at any depth. The validation of a larger request would take seconds. */
export const maxParts = 100_000
/**
 * The same of a message of a stream of requests. A pipeline reads many, one after the other, and 1,024 calls with six fields in their
 * headers have fewer.
 */
export const maxPartsOfStream = 25_000
export const partsRule = (most: number): string => `must not have more than ${most} parts`
/** The largest number of parts with which all violations are reported. Of a larger request only the first one is. */
export const smallParts = 10_000
/** The number of parts up to which it costs less to validate them than to leave out those of Structs. */
const fewParts = 100

/** Checks every request against the rules of the schema (buf.validate), before a handler sees it. */
export function validation(): Interceptor {
  const untilFirst = createValidator({ regexMatch, failFast: true })
  const whole = createValidator({ regexMatch })

  return {
    check({ input }) {
      const counts = hasParts(input)
      return (request) => {
        const parts = counts ? countParts(request, maxParts) : 0
        if (parts > maxParts) throw invalidField("request", partsRule(maxParts))
        const checked = parts > fewParts ? withShallowStructs(input, request) : request
        // Every entry may violate a rule, and collecting all violations of a large request would take gigabytes.
        const result = (parts > smallParts ? untilFirst : whole).validate(input, checked)
        if (result.kind === "valid") return
        if (result.kind === "error") throw result.error
        const violations = result.violations.slice(0, maxViolations).map(toFieldViolation)
        throw new Failure("INVALID_FIELD", { violations })
      }
    },
  }
}

const expressions = new Map<string, RegExp>()

/**
 * Matches the patterns of the schema, which are its own and the same in RE2 and JavaScript. The library's RE2 is written in JavaScript and
 * takes twenty times as long, for each name in the headers of a pipeline's calls.
 */
function regexMatch(pattern: string, text: string): boolean {
  const expression = expressions.get(pattern) ?? new RegExp(pattern, "u")
  expressions.set(pattern, expression)
  return expression.test(text)
}

function toFieldViolation(violation: Violation): FieldViolation {
  let field = ""
  for (const step of violation.field) {
    if (step.kind === "field") field += (field === "" ? "" : ".") + step.name
    else if (step.kind === "list_sub") field += `[${step.index}]`
    // The key of a map is data of the caller, so a violation in a map entry names only the map.
  }
  // A rule on the whole message names its field in its id: "expires.required_by_mask".
  if (field === "") field = violation.ruleId.split(".", 1)[0] ?? ""
  return { field, description: printable(violation.message) }
}

// Some messages quote the value of the rule, which may be a control character.
function printable(message: string): string {
  return message.replaceAll("\u0000", "\\x00")
}

/** Returns the number of entries of lists, maps and nested messages, at any depth, or a number above `end`. */
export function countParts(value: object, end: number): number {
  let total = 0
  // The values of a list are read without its indexes, which would be texts.
  for (const part of Array.isArray(value) ? value : Object.values(value)) {
    total++
    if (typeof part === "object" && part !== null && !ArrayBuffer.isView(part)) total += countParts(part, end - total)
    if (total > end) return total
  }
  return total
}

/** Returns whether messages of a type may have any number of parts. Otherwise they have only fields, which the schema limits. */
export function hasParts(desc: DescMessage): boolean {
  return desc.fields.some(({ fieldKind }) => fieldKind !== "scalar" && fieldKind !== "enum")
}
