/** A text with another letter in its middle: never the same text, and no spelling of the same bytes, as its end may be. */
export function altered(text: string): string {
  const at = Math.floor(text.length / 2)
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`
}

/** A token (JWE, compact) whose tag is another. */
export function withOtherTag(token: string): string {
  const at = token.lastIndexOf(".") + 1
  return token.slice(0, at) + altered(token.slice(at))
}
