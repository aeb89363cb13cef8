import type { EventEmitter } from "node:events"
import type { Identity } from "../../auth/identity.js"
import { Failure } from "../../errors/failure.js"
import { Budget, type Budgets } from "../../overload/budget.js"
import type { Call, CallConnection } from "../../rpc/call.js"
import { bucket } from "../../rpc/interceptors/rate-limit.js"
import { limits } from "./limits.js"
import { Slots } from "./slots.js"

const now = () => performance.now()

/** The state and the limits of one connection. */
export class Connection implements CallConnection {
  readonly requests: Budget
  readonly answers: Budget
  /** Slots for unary calls of methods that require a key. */
  readonly slots = new Slots(limits.streamsAtWork)
  /** Slots for pipelines. */
  readonly pipelines = new Slots(limits.pipelines)
  /** See CallConnection. */
  readonly certificateNames: readonly string[] | undefined
  readonly #takeHealth = bucket(limits.healthPerSecond, now)
  readonly #takeHealthOfUnauthenticated = bucket(
    limits.unauthenticatedHealthPerSecond,
    now,
    limits.unauthenticatedHealthBurst,
  )
  #isKnown = false
  #turnedAway = 0
  /** Called when the client becomes unwelcome and at each further rejected request. Used for HTTP/2. */
  onReconnect: (() => void) | undefined

  readonly #keys: KeyBudgets | undefined

  /** @param maxMessageBytes The largest request, in bytes. */
  constructor(maxMessageBytes: number, certificateNames: readonly string[] | undefined, keys?: KeyBudgets) {
    this.requests = requestBudget(maxMessageBytes, limits.requestBytes, limits.requestBytesForMore)
    this.answers = new Budget(limits.answerBytes, limits.answerBytesForMore)
    this.certificateNames = certificateNames
    this.#keys = keys
  }

  /** Whether a call over this connection was admitted. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Whether so many requests were rejected, and none admitted, that the client should reconnect. */
  get shouldReconnect(): boolean {
    return !this.#isKnown && this.#turnedAway >= limits.unauthenticatedRequests
  }

  /** Whether the client kept sending rejected requests after it was told to reconnect. */
  get ignoredReconnect(): boolean {
    return !this.#isKnown && this.#turnedAway >= limits.unauthenticatedRequestsAtMost
  }

  takeHealthRequest(): number {
    return this.#isKnown ? this.#takeHealth() : this.#takeHealthOfUnauthenticated()
  }

  countUnauthenticated(): void {
    this.#turnedAway++
    if (this.shouldReconnect) this.onReconnect?.()
  }

  /**
   * Records that a call was admitted. Its stream counts against the streams of its key. The first admitted key is also
   * charged for what the connection holds.
   *
   * @returns Whether the key may have another stream.
   */
  admit({ keyId }: Identity, stream: EventEmitter): boolean {
    const key = keyId === undefined ? undefined : this.#keys?.of(keyId)
    if (!this.#isKnown) {
      this.#isKnown = true
      if (key !== undefined) {
        this.requests.belongTo(key.requests)
        this.answers.belongTo(key.answers)
      }
    }
    return key === undefined || key.streams.takeFree(stream)
  }
}

// Enough for two of the largest messages with their overhead. The second may begin once the first has arrived.
function requestBudget(maxMessageBytes: number, bytes: number, forMore: number): Budget {
  return new Budget(Math.max(bytes, 2.5 * maxMessageBytes), Math.max(forMore, 1.5 * maxMessageBytes))
}

/** The limits of one API key, over all connections to a process. */
export interface KeyBudget extends Budgets {
  readonly streams: Slots
}

export interface KeyBudgets {
  of(keyId: string): KeyBudget
}

/** @param maxMessageBytes The largest request, in bytes. */
export function keyBudgets(maxMessageBytes: number): KeyBudgets {
  // Bounded by the number of keys.
  const known = new Map<string, KeyBudget>()
  return {
    of(keyId) {
      let budgets = known.get(keyId)
      if (budgets === undefined) {
        const requests = requestBudget(maxMessageBytes, limits.keyRequestBytes, limits.keyRequestBytesForMore)
        const answers = new Budget(limits.keyAnswerBytes, limits.keyAnswerBytesForMore)
        budgets = { requests, answers, streams: new Slots(limits.keyStreams) }
        known.set(keyId, budgets)
      }
      return budgets
    },
  }
}

/**
 * Waits until an admitted unary call has a slot. Throws OVERLOADED if the key has too many streams or the connection
 * too many pipelines. A pipeline does not wait for another one to end, because that could take hours.
 *
 * @param stream The stream of the call. The call's signal aborts when it closes.
 */
export function acquireSlot(
  connection: Connection,
  { identity, method, signal }: Call,
  stream: EventEmitter,
): Promise<void> | undefined {
  if (identity !== undefined && !connection.admit(identity, stream)) throw tooMany("the key", "streams")
  if (method.methodKind === "unary") return connection.slots.take(stream, signal)
  if (connection.pipelines.takeFree(stream)) return undefined
  throw tooMany("the connection", "pipelines")
}

function tooMany(whose: string, what: string): Failure {
  return new Failure("OVERLOADED", {
    retryAfterMs: 1_000,
    message: `${whose} has reached the limit of ${what}`,
  })
}
