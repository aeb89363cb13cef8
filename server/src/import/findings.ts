import { type BulkName, bulkNames } from "../store/sql/index.js"

/** The kinds of findings about rows. An error excludes the row and stops the import. A warning does not stop it. */
export const findingKinds = {
  invalid: { severity: "error", meaning: "violate a rule of Authwire" },
  duplicate: { severity: "error", meaning: "have the same key as a row before them" },
  "address-collision": {
    severity: "error",
    meaning: "have the same e-mail address as a user before them, ignoring ASCII case and white space",
  },
  taken: {
    severity: "error",
    meaning: "need the e-mail address or the key of another user of the tenant, who is not imported",
  },
  orphan: {
    severity: "warning",
    meaning: "belong to a user that does not exist or cannot be imported, and are left out",
  },
  "folded-reference": {
    severity: "warning",
    meaning: "name a user whose id differs in case, accents or spaces, and are left out",
  },
  omitted: { severity: "warning", meaning: "have a value that Authwire rejects, and that the mapping leaves out" },
  truncated: { severity: "warning", meaning: "have a value that fills its column and may have been cut" },
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

const maxExamples = 5

/** Counts findings and passes each to `onFinding`. Only the first examples of each kind are kept. */
export class Findings {
  readonly #summaries = new Map<string, FindingSummary>()
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
