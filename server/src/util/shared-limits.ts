import { Budget } from "./budget.js"
import type { Owner } from "./owner.js"
import type { Rate } from "./pacer.js"

/**
 * A limit of a process that all API keys share, with the largest share of one tenant, and of one key. What one tenant
 * leaves is at least the whole limit of one key, or a quarter of the process's if that is less. If calls wait in turns, it is a tenth.
 */
export interface SharedLimit {
  readonly process: number
  readonly tenant: number
  readonly key: number
  /** What is left of each limit when nothing more begins, so that what has begun can go on. Default: 0. */
  readonly reserve?: number
  /** Whether calls wait for it. Then a tenant leaves a tenth only. Default: false. */
  readonly isQueued?: boolean
}

const MiB = 1024 * 1024

/**
 * Returns the shares of a limit of active calls. A tenth is left to other tenants, and two tenths to other keys, even if none of them
 * calls now, so that their first calls need not wait. Of a limit below ten, nothing is left to other tenants.
 */
export function sharesOfCalls(process: number): SharedLimit {
  const without = (part: number) => Math.max(1, process - Math.floor(process * part))
  return { process, tenant: without(0.1), key: without(0.2), isQueued: true }
}

/** Returns the share of one tenant, and of any of its keys, of a number of database connections: without a tenth, but at least one. */
export const connectionsOfTenant = (process: number): number => Math.max(1, process - Math.ceil(process / 10))

/**
 * Returns how many units of work may wait for the database: more than all active calls need, because the service has work of its own. A
 * tenth of them may wait for one row, so that a locked row leaves half of the writes of a key to others.
 */
export const queueLimitOf = (maxActiveCalls: number): number => 4 * maxActiveCalls + 100

/** All limits of a process that API keys share. docs/limits.md is made from them. */
export const sharedLimits = {
  /**
   * Connections over which a call with a valid key was made. The process's number is that of `--max-connections` for each
   * listener, and the others follow it. Connections without such a call have no tenant, and end soon.
   */
  connections: { process: 10_000, tenant: 7_500, key: 7_500 },
  /** Open streams of HTTP/2 and requests of HTTP/1.1. Each takes about 8 KiB of memory. */
  streams: { process: 8_192, tenant: 6_144, key: 2_048 },
  /** Among them, pipelines. A client needs one, which takes about 16 KiB of memory. Its calls and their bytes count apart. */
  pipelines: { process: 4_096, tenant: 3_072, key: 1_024 },
  /** Bytes of requests that are incomplete or still active. More if the largest message requires it. */
  requestBytes: { process: 128 * MiB, tenant: 96 * MiB, key: 16 * MiB, reserve: 8 * MiB },
  /** Bytes of answers that clients have not received yet. */
  answerBytes: { process: 256 * MiB, tenant: 192 * MiB, key: 64 * MiB, reserve: 32 * MiB },
  /** Active calls that read, as many that write, and as many of TokenService. The process's number is that of `--max-active-calls`. */
  activeCalls: sharesOfCalls(256),
  /** Database connections in use. The process's number is that of `--database-pool-size`. */
  databaseConnections: {
    process: 10,
    tenant: connectionsOfTenant(10),
    key: connectionsOfTenant(10),
    isQueued: true,
  },
  /** Streams of events. Each may buffer 1,000 events. */
  eventStreams: { process: 512, tenant: 384, key: 64 },
  /** Deliveries of webhooks that are being sent, of those of a tenant each of another user. A webhook has at most 8, and one of the reserve. */
  webhookDeliveries: { process: 512, tenant: 64, key: 64, reserve: 20 },
  /** Streams of clients that cache sessions. */
  cacheStreams: { process: 2_000, tenant: 1_000, key: 500 },
  /** Sessions whose `last_seen` waits to be written. Further ones are recorded when they are used again. */
  lastSeen: { process: 1_000, tenant: 500, key: 500 },
} as const satisfies Record<string, SharedLimit>

/**
 * The rates of the messages that clients which cache sessions send: of one stream, and of all streams of a tenant.
 * Further messages wait, and delay the tenant's own clients only. A message takes about 30 µs of CPU time.
 */
export const cacheMessages = {
  stream: { perSecond: 50, atOnce: 100 },
  tenant: { perSecond: 5_000, atOnce: 1_000 },
} as const satisfies Record<string, Rate>

/** Returns the limit in which one of the numbers is `factor` times as large, and so are all others. */
export function scaled(limit: SharedLimit, factor: number): SharedLimit {
  const { process, tenant, key, reserve = 0 } = limit
  const times = (value: number) => Math.ceil(value * factor)
  return { process: times(process), tenant: times(tenant), key: times(key), reserve: times(reserve) }
}

/** Returns the budget of a key, which is a part of that of its tenant, which is a part of that of the process. */
export type Shares = (owner: Owner) => Budget

/** Creates the budgets of a limit. They are bounded by the number of keys and tenants that have made a call. */
export function sharesOf({ process, tenant, key, reserve = 0 }: SharedLimit): Shares {
  const ofProcess = new Budget(process, process - reserve, "the service")
  const tenants = new Map<string, { budget: Budget; keys: Map<string | undefined, Budget> }>()
  return (owner) => {
    let ofTenant = tenants.get(owner.tenant)
    if (ofTenant === undefined) {
      ofTenant = { budget: new Budget(tenant, tenant - reserve, "the tenant", ofProcess), keys: new Map() }
      tenants.set(owner.tenant, ofTenant)
    }
    let ofKey = ofTenant.keys.get(owner.keyId)
    if (ofKey === undefined) {
      ofKey = new Budget(key, key - reserve, "the API key", ofTenant.budget)
      ofTenant.keys.set(owner.keyId, ofKey)
    }
    return ofKey
  }
}
