/** Returns a token with one of its five parts changed: header, encrypted key, IV, ciphertext or tag. */
export function withPart(token: string, part: 0 | 1 | 2 | 3 | 4, change: (part: string) => string): string {
  return token
    .split(".")
    .map((text, index) => (index === part ? change(text) : text))
    .join(".")
}

/** Changes the first character of a part, because bits of the last character may be unused. */
export const otherFirst = (part: string): string => (part.startsWith("A") ? "B" : "A") + part.slice(1)
