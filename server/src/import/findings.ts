import { type BulkName, bulkNames } from "../store/sql/index.js"
import type { Conversion, Item } from "./item.js"

/** The kinds of findings. An error excludes the row and stops the import. The most dangerous ones come first. */
export const findingKinds = {
  "address-collision": {
    severity: "error",
    meaning: "have the same e-mail address as a user before them, ignoring ASCII case and white space",
  },
  taken: {
    severity: "error",
    meaning: "need the e-mail address or the key of another user of the tenant, who is not imported",
  },
  "unreachable-address": {
    severity: "warning",
    meaning: "have an e-mail address that Auth.js changes (NFKC, lower case), so that it asks for another user",
  },
  "folded-reference": {
    severity: "warning",
    meaning: "name a user whose id differs in case, accents or spaces, and are left out",
  },
  duplicate: { severity: "error", meaning: "have the same key as a row before them" },
  invalid: { severity: "error", meaning: "violate a rule of Authwire" },
  omitted: { severity: "warning", meaning: "have a value that Authwire rejects, and that is left out" },
  "set-aside": { severity: "warning", meaning: "have a type to which the mapping gives a word, and are no accounts" },
  truncated: { severity: "warning", meaning: "have a value that fills its column and may have been cut" },
  orphan: {
    severity: "warning",
    meaning: "belong to a user that does not exist or cannot be imported, and are left out",
  },
  "cannot-sign-in": {
    severity: "warning",
    meaning: "have no e-mail address, no account and no passkey, so the user cannot sign in again",
  },
} as const satisfies Record<string, { severity: "error" | "warning"; meaning: string }>

export type FindingKind = keyof typeof findingKinds

/** A finding about one row. */
export interface Finding {
  kind: FindingKind
  table: BulkName
  /** A label that identifies the row. */
  row: string
  detail: string
}

/** The number of findings of one kind in one table, and the first of them as examples. */
export interface FindingSummary {
  kind: FindingKind
  table: BulkName
  count: number
  examples: Finding[]
}

/** The number of values of a property that were converted in the same way, with the first of them. */
export interface ConversionSummary {
  table: BulkName
  property: string
  /** The kinds before and after, such as `number → date`. */
  what: string
  count: number
  /** The first row, and its values where they may be shown. */
  example: string
}

/** The properties that decide whom an application trusts, and for how long. */
const trusted: readonly string[] = ["emailVerified", "expires"]

const maxExamples = 5

/** Counts findings and passes each to `onFinding`. Only the first examples of each kind are kept. */
export class Findings {
  readonly #summaries = new Map<string, FindingSummary>()
  readonly #conversions = new Map<string, ConversionSummary>()
  readonly #onFinding: (finding: Finding) => void

  constructor(onFinding: (finding: Finding) => void = () => {}) {
    this.#onFinding = onFinding
  }

  add(finding: Finding): void {
    const { kind, table } = finding
    const name = `${kind} ${table}`
    const summary = this.#summaries.get(name) ?? { kind, table, count: 0, examples: [] }
    this.#summaries.set(name, summary)
    summary.count++
    if (summary.examples.length < maxExamples) summary.examples.push(finding)
    this.#onFinding(finding)
  }

  /** Counts the conversions of a row. */
  convert(table: BulkName, item: Pick<Item<unknown>, "label" | "conversions">): void {
    for (const { property, what, ...values } of item.conversions) {
      const name = `${table} ${property} ${what}`
      const known = this.#conversions.get(name)
      if (known !== undefined) known.count++
      else this.#conversions.set(name, { table, property, what, count: 1, example: item.label + shown(values) })
    }
  }

  /** Returns the conversions, those of properties that decide about trust first. */
  conversions(): ConversionSummary[] {
    const rank = ({ property }: ConversionSummary) => (trusted.includes(property) ? 0 : 1)
    return [...this.#conversions.values()].sort((one, other) => rank(one) - rank(other))
  }

  /** Returns the summaries in the order of the kinds, then of the tables. */
  summaries(): FindingSummary[] {
    return (Object.keys(findingKinds) as FindingKind[]).flatMap((kind) =>
      bulkNames.flatMap((table) => this.#summaries.get(`${kind} ${table}`) ?? []),
    )
  }

  get errors(): number {
    return this.summaries().reduce(
      (sum, { kind, count }) => sum + (findingKinds[kind].severity === "error" ? count : 0),
      0,
    )
  }
}

function shown(values: Pick<Conversion, "from" | "to">): string {
  if (!("from" in values)) return ""
  const [from, to] = [values.from, values.to].map((value) => {
    if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString("hex")}'`
    return value instanceof Date ? value.toISOString() : String(value ?? null)
  })
  return `: ${from} → ${to}`
}
