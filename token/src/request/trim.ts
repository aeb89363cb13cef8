/** Removes leading and trailing characters that are among the given ones. Takes linear time. */
export function trim(text: string, characters: string): string {
  let start = 0
  let end = text.length
  while (start < end && characters.includes(text.charAt(start))) start++
  while (end > start && characters.includes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}
