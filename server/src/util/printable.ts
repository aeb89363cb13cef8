/** Characters that control a terminal, change the direction of text or are not seen, except those that join letters. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu

/** Returns a text with the escape of JSON in place of each such character, so that a text in JSON keeps its meaning. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, escaped)
}

/** The same for a text of several lines. The characters in `kept` stay as they are. */
export function printableLines(text: string, kept = "\n"): string {
  return text.replaceAll(unprintable, (character) => (kept.includes(character) ? character : escaped(character)))
}

function escaped(character: string): string {
  const units = character.split("")
  return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
}
