/** Text that is already markup. Only `html` creates it. All other values are escaped. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }

  toString(): string {
    return this.markup
  }
}

type Value = Html | readonly Html[] | string | number | null | undefined | false

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

/**
 * Returns markup with every value escaped, for elements and for quoted attributes: html`<p
 * title="${name}">${name}</p>`. Values that are absent or false produce nothing, so that templates can contain
 * conditions.
 */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(strings.map((string, index) => string + markup(values[index])).join(""))
}

function markup(value: Value): string {
  if (value === null || value === undefined || value === false) return ""
  if (value instanceof Html) return value.markup
  if (typeof value === "object") return value.join("")
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? "")
}
