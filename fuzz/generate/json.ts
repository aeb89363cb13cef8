import type { Random } from "../random.ts"
import { canary } from "./messages.ts"
import { mutateBytes } from "./mutations.ts"

/** Returns arrays or objects that are nested to the given depth. */
export const nested = (depth: number, open = "[", close = "]") => `${open.repeat(depth)}0${close.repeat(depth)}`

const strange: readonly string[] = [
  "1e400",
  "-0",
  "1".repeat(400),
  "9007199254740993",
  "NaN",
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '{"a":[{"b":"\\udc00"}]}',
  '{"\\ud800":1}',
  '"\\u0000"',
  "null",
  "[]",
  "{}",
  "true",
  '""',
  '"NaN"',
  '"9999-12-31T23:59:60Z"',
  '"0000-00-00"',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"id":"a","id":"b"}',
  '{"@type":"type.googleapis.com/google.protobuf.Any"}',
  nested(300),
  nested(300, '{"a":', "}"),
]

/** Returns JSON text that is malformed or unusual. */
export function mutateJson(random: Random, text: string): Buffer {
  const at = random.below(text.length + 1)
  switch (random.below(7)) {
    case 0:
      return mutateBytes(random, Buffer.from(text))
    case 1:
      return Buffer.from(text.replace("{", `{"__proto__":${random.pick(strange)},`))
    case 2:
      // Duplicate names.
      return Buffer.from(text.replace(/^\{(.*)\}$/s, (_, inside) => `{${inside},${inside}}`))
    case 3:
      return Buffer.from(
        text.replace("{", `{"${random.pick(["", canary, "extra", "id", "$typeName"])}":${random.pick(strange)},`),
      )
    case 4: {
      // Replaces a value.
      const values = [...text.matchAll(/:("[^"]*"|[\w.-]+)/g)]
      const one = values.length === 0 ? undefined : random.pick(values)
      if (one === undefined) return Buffer.from(random.pick(strange))
      return Buffer.from(text.slice(0, one.index + 1) + random.pick(strange) + text.slice(one.index + one[0].length))
    }
    case 5:
      return Buffer.concat([
        Buffer.from(text.slice(0, at)),
        Buffer.from("eda080ff", "hex"),
        Buffer.from(text.slice(at)),
      ])
    default:
      return Buffer.from(
        random.pick(["\ufeff", " ", "", "//", "'", "\u0000"]) + text + random.pick(["", "{}", "\u0000", ","]),
      )
  }
}
