import type { DescMethod, Message } from "@bufbuild/protobuf"
import { createValidator, type Violation } from "@bufbuild/protovalidate"
import { Failure, type FieldViolation } from "../errors.js"
import type { Interceptor } from "./interceptor.js"

/** Checks every request against the rules of the schema (buf.validate), before a handler sees it. */
export function validation(): Interceptor {
  const validator = createValidator()

  const check = (method: DescMethod, request: Message): void => {
    const result = validator.validate(method.input, request)
    if (result.kind === "valid") return
    if (result.kind === "error") throw result.error
    throw new Failure("INVALID_FIELD", { violations: result.violations.map(toFieldViolation) })
  }

  return {
    unary: (method, next) => async (request, call) => {
      check(method, request)
      return await next(request, call)
    },
    stream: (method, next) => (requests, call) => next(checked(method, requests), call),
  }

  async function* checked(method: DescMethod, requests: AsyncIterable<Message>): AsyncIterable<Message> {
    for await (const request of requests) {
      check(method, request)
      yield request
    }
  }
}

function toFieldViolation(violation: Violation): FieldViolation {
  let field = ""
  for (const step of violation.field) {
    if (step.kind === "field") field += (field === "" ? "" : ".") + step.name
    else if (step.kind === "list_sub") field += `[${step.index}]`
    // The key of a map is the caller's data; rules on map entries name the map.
  }
  // A rule on the whole message names its field in its id: "expires.required_by_mask".
  if (field === "") field = violation.ruleId.split(".", 1)[0] ?? ""
  return { field, description: printable(violation.message) }
}

// Some messages of the rules quote the rule's own value, which may be a control character.
function printable(message: string): string {
  return message.replaceAll("\u0000", "\\x00")
}
