import { randomUUID } from "node:crypto"
import type { ExpiredRows, Store } from "../../../server/src/store/store.js"
import type { Account, Authenticator, Session, User } from "../../../server/src/store/types.js"

export interface StoreOptions {
  /** The keys that encrypt and decrypt stored values. Default: those of `encryptionKeys`. */
  encryptionKeys?: readonly Buffer[]
  /** The time in milliseconds since 1970-01-01T00:00:00Z. */
  clock?: () => number
  /**
   * The number of calls that may use the database at the same time. `queueLimit` is the number of calls that may wait.
   */
  poolSize?: number
  queueLimit?: number
  /** How long users with an incomplete sign-up are provisional, in milliseconds. */
  provisionalMs?: number
  /** How long events are kept, in milliseconds; 0: none are written. */
  eventsKeepMs?: number
  /** How long audit entries are kept, in milliseconds; 0: until somebody deletes them. */
  auditKeepMs?: number
}

/** A database with its tables, and access to it that bypasses the store. */
export interface StoreDatabase {
  /** Opens a store with its own connections. `drop()` closes it. */
  openStore(options?: StoreOptions): Promise<Store>
  /**
   * Runs a statement with `?` for each parameter. All calls use one connection, which holds locks between BEGIN and
   * COMMIT. Text is returned as strings, whatever the column's type, times as milliseconds since 1970-01-01T00:00:00Z,
   * and booleans as 1 or 0. The function HEX() is available.
   */
  sql(statement: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>
  /**
   * Resolves when a write of one of the stores that begins after this call has met a lock of `sql`: it waits in the
   * database, or is about to be retried.
   */
  lockMet(): Promise<void>
  /** Whether a tenant is in the shard of the default tenant. Without it there are no shards. */
  isBeside?(tenant: string): Promise<boolean>
  /** Converts a time to a parameter of `sql`. */
  moment(ms: number): unknown
  drop(): Promise<void>
}

export type OpenStoreDatabase = () => Promise<StoreDatabase>

/** The context that all parts of the contract share. Tests run in one database, so each creates its own names. */
export interface ContractContext {
  readonly store: Store
  /** A second store in the same database, which stands for another process. */
  readonly other: Store
  readonly database: StoreDatabase
  readonly clock: { now: number }
}

/** The encryption keys of stores in tests. */
export const encryptionKeys = [Buffer.alloc(32, "a key of the tests")]

/** A caller of the default tenant. */
export const anyone = { tenant: "default" }

/** Creates a tenant, and returns a caller of it. */
export async function createTenant({ store }: Pick<ContractContext, "store">): Promise<{ tenant: string }> {
  const { name } = await store.tenants.create({}, { name: newId(), created: new Date() })
  return { tenant: name }
}

export const day = 86_400_000

export function newId(): string {
  return randomUUID()
}

export function newUser(user: Partial<User> = {}): User {
  return { id: newId(), extra: {}, ...user }
}

export function newAccount(userId: string, account: Partial<Account> = {}): Account {
  return { provider: "github", providerAccountId: newId(), userId, type: "oauth", extra: {}, ...account }
}

export function newSession(userId: string, expires: number, session: Partial<Session> = {}): Session {
  return { sessionToken: newId(), userId, expires: new Date(expires), extra: {}, ...session }
}

export function newAuthenticator(userId: string, authenticator: Partial<Authenticator> = {}): Authenticator {
  return {
    credentialID: newId(),
    userId,
    providerAccountId: newId(),
    credentialPublicKey: "cHVibGlj",
    counter: 0,
    credentialDeviceType: "singleDevice",
    credentialBackedUp: false,
    extra: {},
    ...authenticator,
  }
}

/** Pairs of different keys that some collation of some database treats as equal. */
export const differentKeys: [difference: string, one: string, another: string][] = [
  ["case", "k-a", "k-A"],
  ["accents", "k-e", "k-é"],
  ["Unicode form", "k-\u00e9", "k-e\u0301"],
  ["a trailing space", "k", "k "],
  ["a trailing tab", "k", "k\t"],
  ["width", "k-a", "k-ａ"],
  ["ligatures", "k-ss", "k-ß"],
  ["what is not to be seen", "k", "k\u200b"],
  ["emoji", "k-🙂", "k-🙃"],
  ["case beyond ASCII", "k-ж", "k-Ж"],
  ["digits of other scripts", "k-1", "k-١"],
  ["K and the Kelvin sign", "k-K", "k-\u212a"],
]

/** Text that is easily damaged. */
export const oddText = "Zoë 🙂 \u{1F469}\u200d\u{1F680} \\ ' \" ` ; -- % _ \t\n\r é e\u0301 \uFEFF\u200b end "

/** JSON that is easily damaged: by its numbers, order, depth, or names that have a meaning in JavaScript. */
export const oddExtra = JSON.parse(
  '{"z":1,"a":[1.1,1e21,-5,9007199254740991,0.1,true,false,null,""],"2":"two","1":"one","nested":{"é":{"🙂":[]},"":{}},' +
    '"__proto__":{"polluted":true},"constructor":"c","toString":null,"not-before-policy":0,"n\\u0000l":"\\u0000\\ud83d\\ude42"}',
)

/** Counts the outcomes of the calls: "ok", or the reason of the error. */
export async function outcomes(calls: Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const call of await Promise.allSettled(calls)) {
    const outcome = call.status === "fulfilled" ? "ok" : (call.reason.reason ?? String(call.reason))
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

/** Returns the numbers from 0 to `count`, excluding `count`. */
export function range(count: number): number[] {
  return [...Array(count).keys()]
}

/** Returns the expired rows of a table: those of a shard when the one before it has no more. */
export function expiredRows({ expired }: Pick<Store, "expired">, name: string): Pick<ExpiredRows, "deleteBatch"> {
  const shards = expired.tables.filter(({ table }) => table === name)
  let current = 0
  return {
    async deleteBatch(waiter, span) {
      for (; current < shards.length; current++) {
        const deleted = await shards[current]?.deleteBatch(waiter, span)
        if (deleted) return deleted
      }
      current = 0
      return null
    },
  }
}
