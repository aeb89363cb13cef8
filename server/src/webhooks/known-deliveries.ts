import type { WebhookDelivery } from "../store/types.js"

/** The number of deliveries that WebhookStore.pending returns at most. */
const pendingAtOnce = 1_000

/** After how long those at the front are read again, if there are always more behind, in milliseconds. */
const walkMs = 60_000

/**
 * The deliveries of a webhook that a process knows: the first thousand that wait. If none of them is due, because their receiver has not
 * accepted those of some users, it goes on with the next thousand, without further ones of these users. It begins again when one of
 * them is due.
 */
export interface KnownDeliveries {
  /** Whether more may wait behind those that are known. */
  readonly isFull: boolean
  /** Whether more may wait, behind those that are known or before them. */
  readonly isPartial: boolean
  /** The first of each user. Events without a user are in an order of their own, and so are tests. */
  firsts(): Iterable<[user: string, first: WebhookDelivery]>
  /** When the oldest of the first thousand was written; undefined: none waits. */
  readonly oldest: Date | undefined
  /** When those at the front are to be read again, in milliseconds: when the first one is due that was passed over. */
  readonly passedDue: number
  /** Begins at the front at the next read: a call has changed some. */
  restart(): void
  /** Passes over all that are known. The next read has those behind them. */
  pass(): void
  /** Forgets all until the next read. */
  forget(): void
  /** Records what became of a delivery. Undefined: it was accepted. */
  settle(delivery: WebhookDelivery, later: WebhookDelivery | undefined): void
  read(now: number): Promise<void>
}

/** @param pending reads the deliveries that wait, with numbers above `after`. */
export function knownDeliveries(pending: (after: number) => Promise<WebhookDelivery[]>): KnownDeliveries {
  /** Those that are known, by their users. */
  const waiting = new Map<string, WebhookDelivery[]>()
  /** What became of deliveries since the last read of the database began, which may not know it yet. Undefined: accepted. */
  const settled = new Map<number, WebhookDelivery | undefined>()
  /** The users of those that were passed over, up to the number `after`, with when the first of each is due. */
  const passed = new Map<string, number>()
  let after = 0
  let last = 0
  let isFull = false
  let isRestarted = false
  let begun = Number.NEGATIVE_INFINITY
  let oldest: Date | undefined

  const passedDue = () => (isRestarted ? 0 : Math.min(...passed.values()))

  return {
    get isFull() {
      return isFull
    },
    get isPartial() {
      return isFull || after > 0
    },
    *firsts() {
      for (const [user, [first]] of waiting) if (first !== undefined) yield [user, first]
    },
    get oldest() {
      return oldest
    },
    get passedDue() {
      return passedDue()
    },
    restart() {
      isRestarted = true
    },
    pass() {
      for (const [user, [first]] of waiting) passed.set(user, first?.nextAttempt?.getTime() ?? 0)
      after = last
    },
    forget: () => waiting.clear(),
    settle(delivery, later) {
      const { number } = delivery
      const user = groupOf(delivery)
      settled.set(number, later)
      const own = waiting.get(user) ?? []
      const index = own.findIndex((one) => one.number === number)
      if (index < 0) return
      if (later === undefined) own.splice(index, 1)
      else own[index] = later
      if (own.length === 0) waiting.delete(user)
    },
    async read(now) {
      settled.clear()
      // Otherwise those far behind would never be read while some at the front fail.
      const mayRestart = !isFull || now - begun > walkMs
      if (after === 0 || (mayRestart && passedDue() <= now)) {
        after = 0
        passed.clear()
        isRestarted = false
        begun = now
      }
      const found = await pending(after)
      isFull = found.length === pendingAtOnce
      last = found.at(-1)?.number ?? after
      if (after === 0) oldest = found[0]?.created
      waiting.clear()
      for (const row of found) {
        const delivery = settled.has(row.number) ? settled.get(row.number) : row
        const user = groupOf(row)
        if (delivery === undefined || passed.has(user)) continue
        const own = waiting.get(user)
        if (own === undefined) waiting.set(user, [delivery])
        else own.push(delivery)
      }
    },
  }
}

/** Deliveries of one group are sent one after the other. No user has the name of the group of tests. */
function groupOf({ kind, userId }: WebhookDelivery): string {
  return kind === "webhook.test" ? "\0test" : (userId ?? "")
}
