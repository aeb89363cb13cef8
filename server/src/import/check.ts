import { type BulkName, type BulkRows, bulkNames } from "../store/sql/index.js"
import { ahead } from "./ahead.js"
import { type Finding, Findings } from "./findings.js"
import { type Item, keyText, type Origin } from "./item.js"
import { KeySet } from "./key-set.js"

/** What has been learned of all rows, without writing anything. */
export interface Check {
  readonly findings: Findings
  /** How many rows of each table go over. */
  readonly accepted: Readonly<Record<BulkName, number>>
  /** Tells whether a row goes over. It must be asked for the rows of its table once each, in the order of the origin. */
  gate<N extends BulkName>(name: N): Gate<N>
  /** Whether a row with the key of this one goes over. */
  has<N extends BulkName>(name: N, row: BulkRows[N]): boolean
}

/** Gives the row if it goes over. */
type Gate<N extends BulkName> = (item: Item<BulkRows[N]>) => BulkRows[N] | undefined

export interface CheckOptions {
  onFinding?: ((finding: Finding) => void) | undefined
  /** Called with every page that was read. Some tables are read twice. */
  onRows?: ((count: number) => void) | undefined
}

/** Reads everything, and says what of it can go over. Keeps a few bytes for each row in memory, and no row. */
export async function check(origin: Origin, { onFinding, onRows = () => {} }: CheckOptions = {}): Promise<Check> {
  const findings = new Findings(onFinding)
  const keys = Object.fromEntries(bulkNames.map((name) => [name, new KeySet()])) as Record<BulkName, KeySet>
  const accepted = Object.fromEntries(bulkNames.map((name) => [name, 0])) as Record<BulkName, number>
  const addresses = new KeySet()
  const foldedIds = new KeySet()
  /** Users who have an account or an authenticator. */
  const owners = new KeySet()
  /** Ids of users who cannot go over because of another one. */
  const refused = new Set<string>()
  let unaddressed = 0

  async function* items<N extends BulkName>(name: N): AsyncGenerator<Item<BulkRows[N]>> {
    for await (const page of ahead(origin.pages(name))) {
      yield* page
      onRows(page.length)
    }
  }

  const hasUser = (id: string) => keys.users.has(id) && !refused.has(id)

  /** Lets the first of the rows with one key pass, and of the users with one address. */
  function gate<N extends BulkName>(name: N, onRefused: (kind: "duplicate" | "address-collision") => void = () => {}) {
    const first = { key: firstOf(keys[name]), address: firstOf(addresses) }
    return ({ row }: Item<BulkRows[N]>): BulkRows[N] | undefined => {
      if (row === undefined || ("userId" in row && !hasUser(row.userId))) return undefined
      const { emailKey } = row as Partial<BulkRows["users"]>
      const refusal = !first.key(keyText[name](row))
        ? "duplicate"
        : emailKey !== undefined && !first.address(emailKey)
          ? "address-collision"
          : undefined
      if (refusal === undefined) return row
      onRefused(refusal)
      return undefined
    }
  }

  async function findRepeated(name: BulkName) {
    if (keys[name].repeated() === 0 && !(name === "users" && addresses.repeated() > 0)) return
    let refusal: "duplicate" | "address-collision" | undefined
    const admit = gate(name, (kind) => {
      refusal = kind
    })
    for await (const item of items(name)) {
      refusal = undefined
      admit(item)
      if (refusal === undefined) continue
      accepted[name]--
      findings.add({ kind: refusal, table: name, row: item.label, detail: "the first of them can go over" })
      if (refusal === "address-collision") refused.add((item.row as BulkRows["users"]).id)
    }
  }

  for (const name of bulkNames) {
    for await (const { row, label, faults } of items(name)) {
      for (const { kind, detail } of faults) findings.add({ kind, table: name, row: label, detail })
      if (row === undefined) continue
      if ("userId" in row && !hasUser(row.userId)) {
        const kind = foldedIds.has(folded(row.userId)) && !keys.users.has(row.userId) ? "folded-reference" : "orphan"
        findings.add({ kind, table: name, row: label, detail: "userId names no user that can go over" })
        continue
      }
      accepted[name]++
      keys[name].add((keyText[name] as (row: BulkRows[BulkName]) => string)(row))
      if (name === "accounts" || name === "authenticators") owners.add((row as BulkRows["accounts"]).userId)
      if (name !== "users") continue
      const { id, emailKey } = row as BulkRows["users"]
      foldedIds.add(folded(id))
      if (emailKey === undefined) unaddressed++
      else addresses.add(emailKey)
    }
    await findRepeated(name)
  }

  if (unaddressed > 0) {
    for await (const { row, label } of items("users")) {
      if (row === undefined || row.emailKey !== undefined || owners.has(row.id)) continue
      findings.add({ kind: "cannot-sign-in", table: "users", row: label, detail: "goes over as it is" })
    }
  }

  return {
    findings,
    accepted,
    gate: (name) => gate(name),
    has: (name, row) =>
      keys[name].has(keyText[name](row)) && !(name === "users" && refused.has((row as BulkRows["users"]).id)),
  }
}

/** Tells of each key whether it is there for the first time. Remembers only those that come again. */
function firstOf(set: KeySet): (key: string) => boolean {
  const seen = new Set<string>()
  return (key) => {
    if (!set.isRepeated(key)) return true
    if (seen.has(key)) return false
    seen.add(key)
    return true
  }
}

/** What a collation that folds makes of two texts that it finds equal. */
function folded(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().trimEnd()
}
