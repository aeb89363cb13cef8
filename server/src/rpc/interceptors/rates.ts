import { ownMethods } from "../../auth/scopes.js"
import { InvalidValueError } from "../../errors/invalid-value-error.js"
import { nameOf } from "./rate-limit.js"

/**
 * Parses rates such as `TokenService.Encode=50,UserService.CreateUser=20`. An empty text has no rates.
 *
 * @throws InvalidValueError with the rule that is violated
 */
export function readRates(text: string): Record<string, number> {
  const rates: Record<string, number> = {}
  for (const part of text.split(",")) {
    if (part.trim() === "") continue
    const [, name = "", rate] = /^\s*(\w+\.\w+)\s*=\s*(\d{1,9})\s*$/.exec(part) ?? []
    if (rate === undefined)
      throw new InvalidValueError("must be a list of Service.Method=CALLS, such as TokenService.Encode=50")
    if (!known.has(name)) throw new InvalidValueError(`there is no method ${name}`)
    rates[name] = Number(rate)
  }
  return rates
}

const known = new Set(ownMethods.map(nameOf))
