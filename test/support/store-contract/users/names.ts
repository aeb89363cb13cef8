/** Returns a text in the form in which names and addresses are compared. */
export const folded = (text: string) =>
  text.replace(/^[\t-\r ]+|[\t-\r ]+$/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Names that a collation of a database or a pattern of SQL could compare in another way. */
export const names = [
  "Ada|ada|ADA|Ada Lovelace|  Ada  |\t\n\v\f\r Ada|Ádá|ａda|A|a|Adam|[ADA]|_|%|É|é|e\u0301|E\u0301|ß|ẞ|İ|i|I|ı",
  "\u212a|k|K|Ж|ж|\u00a0Ada|\u2003Ada|100%|100x|a_b|a%b|axb|a\\b|a\\\\b|'; --|\"|`|| |\t|🙂|🙂🙃|🙃|\u{10ffff}",
  "\u{10ffff}\u{10ffff}|\ue000|\uffff|\ud7ff|a\u{10ffff}|a\u{10ffff}b|b|\u200bAda|Z\u0001|[|@|`a|{",
  ...["x".repeat(4096), `${"é".repeat(127)}Z`, `${"🙂".repeat(128)}Z`, `  ${"Y".repeat(128)}`],
].flatMap((some) => some.split("|"))

/** Beginnings of names, most of them of `names`. */
export const prefixes = [
  "a|A|ad|ADA| ada |ada l|ada  l|á|é|É|e|i|ı|k|\u212a|%|_|a_|a%|a\\|\\|100%|🙂|\u{1f642}\u{1f643}|\u{10ffff}",
  "a\u{10ffff}|\ue000|\uffff|'|[|ß|ж|z|\u00a0|nobody",
  ...["x".repeat(128), "y".repeat(127), "é".repeat(127), "🙂".repeat(128)],
].flatMap((some) => some.split("|"))
