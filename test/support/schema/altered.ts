/** Changes one character in the middle of a text. A change at the end could decode to the same bytes. */
export function altered(text: string): string {
  const at = Math.floor(text.length / 2)
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`
}

/** Returns a token (JWE, compact) with an altered authentication tag. */
export function withOtherTag(token: string): string {
  const at = token.lastIndexOf(".") + 1
  return token.slice(0, at) + altered(token.slice(at))
}
