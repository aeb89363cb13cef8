import { type BulkName, type BulkRows, bulkNames } from "../store/sql/index.js"
import { ahead } from "./ahead.js"
import { Claims, type Target } from "./claims.js"
import { digestOf, foldedDigest } from "./digest.js"
import { Facts, firstOf, type PageFacts, type StoredFacts } from "./facts.js"
import { type Finding, Findings } from "./findings.js"
import { type Item, keyDigest, type Origin, type Page, type Range } from "./item.js"

/** What an earlier run copied and compared of a table. */
export interface RememberedTable {
  /** The key ranges of all of its pages. */
  ranges: readonly Range[]
  /** The facts of the pages that were copied, by their digests. */
  pages: ReadonlyMap<string, StoredFacts>
  /** Whether Authwire had exactly the rows of these pages. */
  isComplete: boolean
}

export type Remembered = Readonly<Record<BulkName, RememberedTable>>

/** A page that was read. */
export interface CheckedPage {
  range: Range
  digest: string
  facts: StoredFacts
  /** `copied` if an earlier run copied it, `sound` if none of its rows has a finding, otherwise `faulty`. */
  state: "copied" | "sound" | "faulty"
}

/** The result of reading all rows. Nothing is written to compute it. */
export interface Check {
  readonly findings: Findings
  /** The number of rows of each table that can be imported. */
  readonly accepted: Readonly<Record<BulkName, number>>
  /** The pages of a table in their order. Empty if pages have no digest. */
  pages(name: BulkName): readonly CheckedPage[]
  /** The ranges of a table that have to be copied; undefined for the whole table. */
  ranges(name: BulkName): Range[] | undefined
  /**
   * Returns a filter for the importable rows. It must be called once for each row of `ranges(name)`, in the order of
   * the origin.
   */
  gate<N extends BulkName>(name: N): Gate<N>
  /** The number of rows of each table that cannot be imported. */
  readonly skipped: Readonly<Record<BulkName, number>>
  /** Whether a row with the same key as this one can be imported. */
  has<N extends BulkName>(name: N, row: BulkRows[N]): boolean
  /** Whether the origin has a row with the same key as this one, but it cannot be imported. */
  skips<N extends BulkName>(name: N, row: BulkRows[N]): boolean
  /** Whether rows may have disappeared from the origin since the remembered run. */
  mayHaveSurplus(name: BulkName): boolean
  /** Discards the results. */
  close(): void
}

/** Returns the row if it can be imported, otherwise undefined. */
type Gate<N extends BulkName> = (item: Item<BulkRows[N]>) => BulkRows[N] | undefined

export interface CheckOptions {
  onFinding?: ((finding: Finding) => void) | undefined
  /** Called after each page with its number of rows. Some pages are read twice. */
  onRows?: ((count: number) => void) | undefined
  remembered?: Remembered | undefined
  /** The tenant into which the rows will be copied. Without it, the rows are only compared with each other. */
  target?: Target | undefined
}

/**
 * Reads all rows of the origin and determines which of them can be imported. The facts about each row are kept in
 * a temporary file, except when there are few rows. The rows of a remembered page whose digest has not changed are not
 * examined again. Throws StartError.
 */
export async function check(origin: Origin, options: CheckOptions = {}): Promise<Check> {
  const facts = new Facts()
  return checkInto(facts, origin, options).catch((error) => {
    facts.close()
    throw error
  })
}

async function checkInto(
  facts: Facts,
  origin: Origin,
  { onFinding, onRows = () => {}, remembered, target }: CheckOptions,
): Promise<Check> {
  const findings = new Findings(onFinding)
  const counts = () => Object.fromEntries(bulkNames.map((name) => [name, 0])) as Record<BulkName, number>
  const [accepted, skipped] = [counts(), counts()]
  const pages = Object.fromEntries(bulkNames.map((name) => [name, []])) as unknown as Record<BulkName, CheckedPage[]>
  /** The ranges of the users' table that contain users without an e-mail address; undefined for the whole table. */
  let unaddressed: Range[] | undefined = []
  /** Rows that cannot be imported because another user, of the origin or of the tenant, has their address or their key. */
  const rejected = Object.fromEntries(bulkNames.map((name) => [name, new Set()])) as Record<BulkName, Set<bigint>>

  async function* read<N extends BulkName>(name: N, ranges?: readonly Range[]): AsyncGenerator<Page<BulkRows[N]>> {
    for await (const page of ahead(origin.pages(name, ranges))) {
      yield page
      onRows(page.length)
    }
  }

  const hasUser = (id: bigint) => facts.keys.users.has(id) && !rejected.users.has(id)

  /** Accepts only the first of the rows with the same key, and the first of the users with the same address. */
  function gate<N extends BulkName>(name: N, onRepeated: (kind: "duplicate" | "address-collision") => void = () => {}) {
    const first = { key: firstOf(facts.keys[name]), address: firstOf(facts.addresses) }
    return (item: Item<BulkRows[N]>): BulkRows[N] | undefined => {
      const { row } = item
      if (row === undefined || ("userId" in row && !hasUser(digestOf(row.userId)))) return undefined
      const { emailKey } = row as Partial<BulkRows["users"]>
      const repetition = !first.key(() => item.key)
        ? "duplicate"
        : emailKey !== undefined && !first.address(() => digestOf(emailKey))
          ? "address-collision"
          : undefined
      if (repetition === undefined) return rejected[name].size > 0 && rejected[name].has(item.key) ? undefined : row
      onRepeated(repetition)
      return undefined
    }
  }

  /** Examines every row of a page. */
  function examine<N extends BulkName>(
    name: N,
    { source }: Page<BulkRows[N]>,
    items: readonly Item<BulkRows[N]>[],
  ): Learned {
    const keys: bigint[] = []
    const addresses: bigint[] = []
    const foldedIds: bigint[] = []
    const owners: bigint[] = []
    const skippedKeys: bigint[] = []
    let [isSound, lacksAddress] = [true, false]
    const add = (finding: Finding) => {
      isSound = false
      findings.add(finding)
    }
    for (const item of items) {
      const { row, key, label, faults } = item
      findings.convert(name, item)
      for (const { kind, detail } of faults) add({ kind, table: name, row: label, detail })
      if (row === undefined) {
        skippedKeys.push(key)
        continue
      }
      if ("userId" in row) {
        const owner = digestOf(row.userId)
        if (!hasUser(owner)) {
          const isFolded = !facts.keys.users.has(owner) && facts.foldedIds.has(foldedDigest(row.userId))
          const kind = isFolded ? "folded-reference" : "orphan"
          add({ kind, table: name, row: label, detail: "userId names no user that can be imported" })
          skippedKeys.push(key)
          continue
        }
        owners.push(owner)
      }
      keys.push(key)
      if (name !== "users") continue
      const { id, emailKey } = row as BulkRows["users"]
      foldedIds.push(foldedDigest(id))
      if (emailKey === undefined) lacksAddress = true
      else addresses.push(digestOf(emailKey))
    }
    if (lacksAddress && source === undefined) unaddressed = undefined
    else if (lacksAddress && source !== undefined) unaddressed?.push(source.range)
    facts.skipped[name].add(BigInt64Array.from(skippedKeys))
    skipped[name] += skippedKeys.length
    const [k, a, f, o] = [keys, addresses, foldedIds, owners].map((digests) => BigInt64Array.from(digests))
    const state = isSound ? "sound" : "faulty"
    return { state, facts: { keys: k, addresses: a, foldedIds: f, owners: o } as PageFacts }
  }

  /** Returns the remembered facts of a page, if the page has not changed and the users of its rows can be imported. */
  function recall(name: BulkName, page: Page<unknown>): Learned | undefined {
    const stored = page.source && remembered?.[name].pages.get(page.source.digest)
    const known = stored?.read()
    return known?.owners.every(hasUser) ? { state: "copied", facts: known, stored } : undefined
  }

  /** Finds rows with the same key and users with the same address. Only the first of them can be imported. */
  async function findRepeated(name: BulkName) {
    const sets = name === "users" ? [facts.keys.users, facts.addresses] : [facts.keys[name]]
    if (sets.every((set) => set.repeated().size === 0)) return
    for (const page of pages[name]) {
      const { keys, addresses } = page.facts.read()
      const all = [keys, addresses]
      if (sets.some((set, index) => all[index]?.some((digest) => set.repeated().has(digest)))) page.state = "faulty"
    }
    let repetition: "duplicate" | "address-collision" | undefined
    const admit = gate(name, (kind) => {
      repetition = kind
    })
    for await (const page of read(name, rangesOf(name, "faulty"))) {
      for (const item of page.items(false)) {
        repetition = undefined
        admit(item)
        if (repetition === undefined) continue
        accepted[name]--
        skipped[name]++
        findings.add({
          kind: repetition,
          table: name,
          row: item.label,
          detail: "only the first of them can be imported",
        })
        if (repetition === "address-collision") rejected.users.add(item.key)
      }
    }
  }

  /** Rejects the rows that need what a user of the tenant keeps, because the origin does not have that user or skips it. */
  function rejectTaken<N extends BulkName>(name: N, claims: Claims<N>) {
    const keeps = (id: string) => {
      const user = digestOf(id)
      if (hasUser(user)) return false
      return !target?.deletes || facts.keys.users.has(user) || facts.skipped.users.has(user)
    }
    const unmet = claims.unmet(keeps, (key) => facts.keys[name].has(key) && !rejected[name].has(key))
    const what = name === "users" ? "address" : "key"
    for (const [key, { row, holder }] of unmet) {
      rejected[name].add(key)
      accepted[name]--
      skipped[name]++
      findings.add({ kind: "taken", table: name, row, detail: `the ${what} belongs to user ${holder} of the tenant` })
    }
    if (unmet.size === 0) return
    for (const page of pages[name]) if (page.facts.read().keys.some((key) => unmet.has(key))) page.state = "faulty"
  }

  /** Returns the ranges of the pages of a table that have one of these states. */
  function rangesOf(name: BulkName, ...states: CheckedPage["state"][]): Range[] | undefined {
    const found = pages[name].filter(({ state }) => states.includes(state)).map(({ range }) => range)
    return pages[name].length === 0 ? undefined : found
  }

  for (const name of bulkNames) {
    const claims = new Claims(name, target?.holders)
    for await (const page of read(name, remembered?.[name].ranges)) {
      let learned = recall(name, page)
      if (learned === undefined) {
        await page.verify?.()
        const items = page.items(false)
        learned = examine(name, page, items)
        await claims.add(items)
      }
      facts.add(name, learned.facts)
      accepted[name] += learned.facts.keys.length
      if (page.source === undefined) continue
      pages[name].push({ ...page.source, state: learned.state, facts: learned.stored ?? facts.store(learned.facts) })
    }
    await findRepeated(name)
    rejectTaken(name, claims)
  }

  if (unaddressed === undefined || unaddressed.length > 0) {
    for await (const page of read("users", unaddressed)) {
      for (const { row, label } of page.items(false)) {
        if (row === undefined || row.emailKey !== undefined || facts.owners.has(digestOf(row.id))) continue
        findings.add({ kind: "cannot-sign-in", table: "users", row: label, detail: "is imported unchanged" })
      }
    }
  }

  return {
    findings,
    accepted,
    skipped,
    pages: (name) => pages[name],
    ranges: (name) => rangesOf(name, "sound", "faulty"),
    gate: (name) => gate(name),
    has: (name, row) => {
      const digest = keyDigest[name](row)
      return facts.keys[name].has(digest) && !rejected[name].has(digest)
    },
    skips: (name, row) => {
      const digest = keyDigest[name](row)
      return facts.keys[name].has(digest) ? rejected[name].has(digest) : facts.skipped[name].has(digest)
    },
    mayHaveSurplus(name) {
      const before = remembered?.[name]
      if (!before?.isComplete || rejected.users.size > 0) return true
      const there = new Set(pages[name].filter(({ state }) => state === "copied").map(({ digest }) => digest))
      for (const [digest, known] of before.pages) {
        if (!there.has(digest) && known.read().keys.some((key) => !facts.keys[name].has(key))) return true
      }
      return false
    },
    close: () => facts.close(),
  }
}

/** The result of examining or recalling a page. */
interface Learned {
  state: CheckedPage["state"]
  facts: PageFacts
  /** The stored facts, if an earlier run stored them. */
  stored?: StoredFacts | undefined
}
