import type { EventEmitter } from "node:events"
import { PipelineService } from "@authwire/proto"
import type { Identity } from "../../auth/identity.js"
import { Failure } from "../../errors/failure.js"
import type { Call, CallConnection } from "../../rpc/call.js"
import { bucket } from "../../rpc/interceptors/rate-limit.js"
import { Budget, type Budgets, type Holder } from "../../util/budget.js"
import type { Owner } from "../../util/owner.js"
import { type Shares, scaled, sharedLimits, sharesOf } from "../../util/shared-limits.js"
import { arrivalTurns } from "./arrival-turn.js"
import { fewAtATime } from "./few-at-a-time.js"
import { limits } from "./limits.js"

/** A fixed number of slots for streams. Further streams wait in order. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /**
   * Takes a slot until the stream closes. Returns undefined if one was free, else a promise that resolves once the
   * stream has one.
   *
   * @param signal Ends the wait with its reason. It aborts when the stream closes.
   */
  take(stream: EventEmitter, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      stream.once("close", this.#give)
      return undefined
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave)
        stream.once("close", this.#give)
        resolve()
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1)
        reject(signal.reason)
      }
      signal.addEventListener("abort", leave, { once: true })
      this.#waiting.push(admit)
    })
  }

  readonly #give = (): void => {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

const now = () => performance.now()

/** The state and the limits of one connection. */
export class Connection implements CallConnection {
  readonly requests: Budget
  readonly answers: Budget
  /** Slots for unary calls of methods that require a key. */
  readonly slots = new Slots(limits.streamsAtWork)
  /** See CallConnection. */
  readonly certificateNames: readonly string[] | undefined
  readonly #takeHealth = bucket(limits.healthPerSecond, now)
  readonly #takeHealthOfUnauthenticated = bucket(
    limits.unauthenticatedHealthPerSecond,
    now,
    limits.unauthenticatedHealthBurst,
  )
  readonly #firstInTurns = fewAtATime(() => this.#isKnown)
  #isKnown = false
  #turnedAway = 0
  /** Called when the client becomes unwelcome and at each further rejected request. Used for HTTP/2. */
  onReconnect: (() => void) | undefined
  /** Called when the first call is admitted. Used for HTTP/2. */
  onKnown: (() => void) | undefined

  readonly #keys: KeyBudgets | undefined
  /** The budget of connections in which this one counts since its first admitted call. */
  #connections: Budget | undefined
  #isClosed = false

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

  /** Handles the next request in its turn: see arrivalTurns, and fewAtATime until a call was admitted. */
  inTurns(handle: () => void): void {
    this.#firstInTurns(() => {
      const waiting = arrivalTurns[this.#isKnown ? "known" : "unknown"](this)
      if (waiting === undefined) handle()
      else waiting.then(handle)
    })
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
   * charged for the connection and for what it holds. A connection beyond the limit of its tenant stays one without an
   * admitted call, which ends soon.
   *
   * @throws OVERLOADED if there are too many connections or streams.
   */
  admit(identity: Identity, stream: EventEmitter): void {
    const key = this.#keys?.of(identity)
    if (!this.#isKnown) {
      if (key !== undefined) this.#countFor(key)
      this.#isKnown = true
      this.onKnown?.()
    }
    if (key !== undefined) takeUntilClosed(key.streams, "streams", stream)
  }

  /**
   * Records that the admitted stream is a pipeline. A gateway may carry the pipelines of many keys over one connection,
   * so they count against their keys, as the streams of events and of session caches do in their services.
   *
   * @throws OVERLOADED if there are too many.
   */
  admitPipeline(identity: Identity, stream: EventEmitter): void {
    const key = this.#keys?.of(identity)
    if (key !== undefined) takeUntilClosed(key.pipelines, "pipelines", stream)
  }

  #countFor(key: KeyBudget): void {
    if (this.#isClosed) return
    const holder = key.connections.takeOrHolder(1)
    if (holder !== undefined) {
      this.countUnauthenticated()
      throw tooMany(holder, "connections")
    }
    this.#connections = key.connections
    this.requests.belongTo(key.requests)
    this.answers.belongTo(key.answers)
  }

  /** Records that the connection is closed. */
  closed(): void {
    this.#isClosed = true
    this.#connections?.give(1)
    this.#connections = undefined
  }
}

// Enough for two of the largest messages with their overhead. The second may begin once the first has arrived.
function requestBudget(maxMessageBytes: number, bytes: number, forMore: number): Budget {
  return new Budget(Math.max(bytes, 2.5 * maxMessageBytes), Math.max(forMore, 1.5 * maxMessageBytes))
}

/** The limits of one API key, over all connections to a process, and within those of its tenant and of the process. */
interface KeyBudget extends Budgets {
  readonly connections: Budget
  readonly streams: Budget
  readonly pipelines: Budget
}

export interface KeyBudgets {
  of(owner: Owner): KeyBudget
}

/**
 * @param maxMessageBytes The largest request, in bytes.
 * @param maxConnections The maximum number of connections of a listener.
 */
export function keyBudgets(maxMessageBytes: number, maxConnections: number): KeyBudgets {
  const { connections, streams, pipelines, requestBytes, answerBytes } = sharedLimits
  const shares: Record<keyof KeyBudget, Shares> = {
    connections: sharesOf(scaled(connections, maxConnections / connections.process)),
    streams: sharesOf(streams),
    pipelines: sharesOf(pipelines),
    requests: sharesOf(scaled(requestBytes, Math.max(1, (2.5 * maxMessageBytes) / requestBytes.key))),
    answers: sharesOf(answerBytes),
  }
  return {
    of: (owner) => ({
      connections: shares.connections(owner),
      streams: shares.streams(owner),
      pipelines: shares.pipelines(owner),
      requests: shares.requests(owner),
      answers: shares.answers(owner),
    }),
  }
}

/**
 * Waits until an admitted unary call has a slot. Throws OVERLOADED if the key has too many streams, pipelines or
 * connections. A pipeline does not wait for another one to end, because that could take hours.
 *
 * @param stream The stream of the call. The call's signal aborts when it closes.
 */
export function acquireSlot(connection: Connection, call: Call, stream: EventEmitter): Promise<void> | undefined {
  const { identity, method, signal } = call
  if (identity !== undefined) {
    connection.admit(identity, stream)
    call.isCounted = true
    if (method === PipelineService.method.pipeline) connection.admitPipeline(identity, stream)
  }
  return method.methodKind === "unary" ? connection.slots.take(stream, signal) : undefined
}

/** Takes one of a budget until the stream closes. Throws OVERLOADED if none is left. */
function takeUntilClosed(budget: Budget, what: string, stream: EventEmitter): void {
  const holder = budget.takeOrHolder(1)
  if (holder !== undefined) throw tooMany(holder, what)
  stream.once("close", () => budget.give(1))
}

function tooMany(whose: Holder, what: string): Failure {
  return new Failure("OVERLOADED", {
    retryAfterMs: 1_000,
    message: `${whose} has reached the limit of ${what}`,
  })
}
