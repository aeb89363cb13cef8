import { type BulkName, type BulkRows, bulkNames } from "../store/sql/index.js"
import { Claims, type Target } from "./claims.js"
import { requireAll } from "./counts.js"
import { Digests, firstOf } from "./digests.js"
import { type Finding, Findings } from "./findings.js"
import { ahead, digestOf, foldedDigest, type ImportSource, type Item, keyDigest, type Page } from "./item.js"

/** The result of reading all rows. Nothing is written to compute it. */
export interface Check {
  readonly findings: Findings
  /** The number of rows of each table that can be imported. */
  readonly accepted: Readonly<Record<BulkName, number>>
  /** Whether a page was read before, and none of its rows had a finding. */
  isSound<N extends BulkName>(name: N, page: Page<BulkRows[N]>): boolean
  /** Returns a filter for the importable rows, to be called once for each row, in the order of the source. */
  gate<N extends BulkName>(name: N): Gate<N>
  /** The number of rows of each table that cannot be imported. */
  readonly skipped: Readonly<Record<BulkName, number>>
  /** Whether a row with the same key as this one can be imported. */
  has<N extends BulkName>(name: N, row: BulkRows[N]): boolean
  /** Whether the source has a row with the same key as this one, but it cannot be imported. */
  skips<N extends BulkName>(name: N, row: BulkRows[N]): boolean
  /** Discards the results. */
  close(): void
}

/** Returns the row if it can be imported, otherwise undefined. `isSound` tells whether its page is sound. */
type Gate<N extends BulkName> = (item: Item<BulkRows[N]>, isSound: boolean) => BulkRows[N] | undefined

export interface CheckOptions {
  onFinding?: ((finding: Finding) => void) | undefined
  /** Called after each page with its number of rows. Some tables are read twice. */
  onRows?: ((count: number) => void) | undefined
  /** The numbers of rows that the source counted before. Without them, the check does not find that it shows fewer. */
  counted?: Readonly<Record<BulkName, number>> | undefined
  /** The tenant into which the rows will be copied. Without it, the rows are only compared with each other. */
  target?: Target | undefined
}

/**
 * Reads all rows of the source and determines which of them can be imported. The digests about each row are kept in
 * a temporary file, except when there are few rows. Throws StartError.
 */
export async function check(source: ImportSource, options: CheckOptions = {}): Promise<Check> {
  const digests = new Digests()
  return checkInto(digests, source, options).catch((error) => {
    digests.close()
    throw error
  })
}

async function checkInto(
  digests: Digests,
  source: ImportSource,
  { onFinding, onRows = () => {}, counted, target }: CheckOptions,
): Promise<Check> {
  const findings = new Findings(onFinding)
  const counts = () => Object.fromEntries(bulkNames.map((name) => [name, 0])) as Record<BulkName, number>
  const [accepted, skipped] = [counts(), counts()]
  /** The digests of the sound pages. */
  const sound = Object.fromEntries(bulkNames.map((name) => [name, new Set()])) as Record<BulkName, Set<string>>
  const isSound = (name: BulkName, { digest }: Page<unknown>) => digest !== undefined && sound[name].has(digest)
  let lacksAddresses = false
  /** Rows that cannot be imported because another user, of the source or of the tenant, has their address or their key. */
  const rejected = Object.fromEntries(bulkNames.map((name) => [name, new Set()])) as Record<BulkName, Set<bigint>>

  async function* read<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
    for await (const page of ahead(source.pages(name))) {
      yield page
      onRows(page.length)
    }
  }

  const hasUser = (id: bigint) => digests.keys.users.has(id) && !rejected.users.has(id)

  /** Accepts only the first of the rows with the same key, and the first of the users with the same address. */
  function gate<N extends BulkName>(
    name: N,
    onRepeated: (kind: "duplicate" | "address-collision") => void = () => {},
  ): Gate<N> {
    const first = { key: firstOf(digests.keys[name]), address: firstOf(digests.addresses) }
    return (item, isSound) => {
      const { row } = item
      if (row === undefined || (!isSound && "userId" in row && !hasUser(digestOf(row.userId)))) return undefined
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

  /** Examines every row of a page. Returns whether none has a finding. */
  function examine<N extends BulkName>(name: N, items: readonly Item<BulkRows[N]>[]): boolean {
    const keys: bigint[] = []
    const addresses: bigint[] = []
    const foldedIds: bigint[] = []
    const owners: bigint[] = []
    const skippedKeys: bigint[] = []
    let isSound = true
    const add = (finding: Finding) => {
      isSound = false
      findings.add(finding)
    }
    for (const item of items) {
      const { row, key, label, faults, movedTo } = item
      findings.convert(name, item)
      for (const { kind, detail } of faults) add({ kind, table: name, row: label, detail })
      const userId = row !== undefined && "userId" in row ? row.userId : movedTo
      let isOrphan = false
      if (userId !== undefined) {
        const owner = digestOf(userId)
        isOrphan = !hasUser(owner)
        if (isOrphan) {
          const isFolded = !digests.keys.users.has(owner) && digests.foldedIds.has(foldedDigest(userId))
          const kind = isFolded ? "folded-reference" : "orphan"
          add({ kind, table: name, row: label, detail: "userId names no user that can be imported" })
        } else owners.push(owner)
      }
      if (row === undefined || isOrphan) {
        skippedKeys.push(key)
        continue
      }
      keys.push(key)
      if (name !== "users") continue
      const { id, emailKey } = row as BulkRows["users"]
      foldedIds.push(foldedDigest(id))
      if (emailKey === undefined) lacksAddresses = true
      else addresses.push(digestOf(emailKey))
    }
    digests.keys[name].add(keys)
    digests.addresses.add(addresses)
    digests.foldedIds.add(foldedIds)
    if (name === "accounts" || name === "authenticators") digests.owners.add(owners)
    digests.skipped[name].add(skippedKeys)
    accepted[name] += keys.length
    skipped[name] += skippedKeys.length
    return isSound
  }

  /** Finds rows with the same key and users with the same address. Only the first of them can be imported. */
  async function findRepeated(name: BulkName) {
    const sets = name === "users" ? [digests.keys.users, digests.addresses] : [digests.keys[name]]
    if (sets.every((set) => set.repeated().size === 0)) return
    let repetition: "duplicate" | "address-collision" | undefined
    const admit = gate(name, (kind) => {
      repetition = kind
    })
    for await (const page of read(name)) {
      const known = isSound(name, page)
      for (const item of page.items(known)) {
        repetition = undefined
        admit(item, known)
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

  /** Rejects the rows that need what a user of the tenant keeps, because the source does not have that user or skips it. */
  function rejectTaken<N extends BulkName>(name: N, claims: Claims<N>) {
    const keeps = (id: string) => {
      const user = digestOf(id)
      if (hasUser(user)) return false
      return !target?.deletes || digests.keys.users.has(user) || digests.skipped.users.has(user)
    }
    const unmet = claims.unmet(keeps, (key) => digests.keys[name].has(key) && !rejected[name].has(key))
    const what = name === "users" ? "address" : "key"
    for (const [key, { row, holder }] of unmet) {
      rejected[name].add(key)
      accepted[name]--
      skipped[name]++
      findings.add({ kind: "taken", table: name, row, detail: `the ${what} belongs to user ${holder} of the tenant` })
    }
  }

  for (const name of bulkNames) {
    const claims = new Claims(name, target?.holders)
    for await (const page of read(name)) {
      await page.verify?.()
      const items = page.items(false)
      if (examine(name, items) && page.digest !== undefined) sound[name].add(page.digest)
      await claims.add(items)
    }
    if (counted !== undefined) {
      await requireAll(source, name, { counted: counted[name], read: accepted[name] + skipped[name] })
    }
    await findRepeated(name)
    rejectTaken(name, claims)
  }

  if (lacksAddresses) {
    for await (const page of read("users")) {
      for (const { row, label } of page.items(isSound("users", page))) {
        if (row === undefined || row.emailKey !== undefined || digests.owners.has(digestOf(row.id))) continue
        findings.add({ kind: "cannot-sign-in", table: "users", row: label, detail: "is imported unchanged" })
      }
    }
  }

  return {
    findings,
    accepted,
    skipped,
    isSound,
    gate: (name) => gate(name),
    has: (name, row) => {
      const digest = keyDigest[name](row)
      return digests.keys[name].has(digest) && !rejected[name].has(digest)
    },
    skips: (name, row) => {
      const digest = keyDigest[name](row)
      return digests.keys[name].has(digest) ? rejected[name].has(digest) : digests.skipped[name].has(digest)
    },
    close: () => digests.close(),
  }
}
