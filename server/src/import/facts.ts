import type { BulkName } from "../store/sql/index.js"
import { digestOf, KeySet } from "./key-set.js"

/** What is known of a page without its rows, as digests, of those of its rows that can go over. */
export interface PageFacts {
  keys: BigUint64Array
  /** Of users: the addresses, and the ids as a database may find them equal. */
  addresses: BigUint64Array
  foldedIds: BigUint64Array
  /** Of what belongs to users: whose each row is. */
  owners: BigUint64Array
}

/** What is known of all pages. */
export class Facts {
  readonly keys: Readonly<Record<BulkName, KeySet>> = {
    users: new KeySet(),
    accounts: new KeySet(),
    sessions: new KeySet(),
    verificationTokens: new KeySet(),
    authenticators: new KeySet(),
  }
  readonly addresses = new KeySet()
  readonly foldedIds = new KeySet()
  /** Users who have an account or an authenticator. */
  readonly owners = new KeySet()

  add(name: BulkName, { keys, addresses, foldedIds, owners }: PageFacts): void {
    this.keys[name].add(keys)
    this.addresses.add(addresses)
    this.foldedIds.add(foldedIds)
    if (name === "accounts" || name === "authenticators") this.owners.add(owners)
  }
}

/** The digest of what a collation that folds makes of a text: two texts that it finds equal have the same. */
export function foldedDigest(text: string): bigint {
  // By far most ids are of these characters alone, and there are many.
  const folded = /^[\w-]*$/.test(text) ? text : text.normalize("NFKD").replaceAll(/\p{M}/gu, "").trimEnd()
  return digestOf(folded.toLowerCase())
}
