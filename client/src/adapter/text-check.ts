import type { Transport } from "@connectrpc/connect"
import { wellFormed } from "./field.js"

/**
 * A transport that takes no request with a lone surrogate in it. UTF-8 has none, and encoding puts U+FFFD in its place
 * without a word: what is read later would not be what was written. Fails with INVALID_ARGUMENT and the path.
 */
export function textCheck(inner: Transport): Transport {
  return {
    ...inner,
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      checkText("", input)
      return await inner.unary(method, signal, timeoutMs, header, input, contextValues)
    },
  }
}

function checkText(path: string, value: unknown): void {
  if (typeof value === "string") wellFormed(path, value)
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return
  for (const key in value) {
    const name = Array.isArray(value) ? `[${key}]` : key.toWellFormed()
    const at = path === "" || Array.isArray(value) ? path + name : `${path}.${name}`
    wellFormed(at, key)
    checkText(at, (value as Record<string, unknown>)[key])
  }
}
