import type { EventEmitter } from "node:events"
import { constants, type ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { Budget, type Budgets } from "../overload/budget.js"
import type { Call, CallConnection } from "../rpc/call.js"
import { Failure } from "../rpc/errors.js"
import type { Identity } from "../rpc/identity.js"
import { bucket } from "../rpc/interceptors/rate-limit.js"
import { Slots } from "./budgets/slots.js"
import { limits } from "./limits.js"

const now = () => performance.now()

/** What is known of a connection, and what it may hold. */
export class Connection implements CallConnection {
  readonly requests: Budget
  readonly answers: Budget
  /** For the unary calls of methods that need a key. */
  readonly slots = new Slots(limits.streamsAtWork)
  /** For the pipelines. */
  readonly pipelines = new Slots(limits.pipelines)
  /** Whom the client's certificate names, see Incoming. */
  readonly certificateNames: readonly string[] | undefined
  readonly #takeHealth = bucket(limits.healthPerSecond, now)
  readonly #takeHealthOfStranger = bucket(limits.strangerHealthPerSecond, now, limits.strangerHealthAtOnce)
  #isKnown = false
  #turnedAway = 0
  /** Called when the client becomes unwelcome, and at each further request that is turned away: for HTTP/2. */
  onUnwelcome: (() => void) | undefined

  readonly #keys: KeyBudgets | undefined

  /** @param maxMessageBytes The largest request, in bytes. */
  constructor(maxMessageBytes: number, certificateNames: readonly string[] | undefined, keys?: KeyBudgets) {
    this.requests = requestBudget(maxMessageBytes, limits.requestBytes, limits.requestBytesForMore)
    this.answers = new Budget(limits.answerBytes, limits.answerBytesForMore)
    this.certificateNames = certificateNames
    this.#keys = keys
  }

  /** Whether a call that came over it was let in. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Whether the client has made nothing but requests that were turned away, and is to connect again. */
  get isUnwelcome(): boolean {
    return !this.#isKnown && this.#turnedAway >= limits.strangerRequests
  }

  /** Whether it has gone on, although it was told so. */
  get hasGoneOn(): boolean {
    return !this.#isKnown && this.#turnedAway >= limits.strangerRequestsAtMost
  }

  /** Takes one of the requests for health that it may make; 0, or for how many milliseconds there is none. */
  takeHealthRequest(): number {
    return this.#isKnown ? this.#takeHealth() : this.#takeHealthOfStranger()
  }

  turnAway(): void {
    this.#turnedAway++
    if (this.isUnwelcome) this.onUnwelcome?.()
  }

  /**
   * A call that came over it was let in: its stream counts with those of its key, and what the connection holds counts with
   * what the first key holds.
   *
   * @returns Whether the key may have a further stream.
   */
  letIn({ keyId }: Identity, stream: EventEmitter): boolean {
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

// Two of the largest messages, with what is around them; the second may begin when the first is there.
function requestBudget(maxMessageBytes: number, bytes: number, forMore: number): Budget {
  return new Budget(Math.max(bytes, 2.5 * maxMessageBytes), Math.max(forMore, 1.5 * maxMessageBytes))
}

/** What one key may hold, over all connections to a process. */
export interface KeyBudget extends Budgets {
  readonly streams: Slots
}

export interface KeyBudgets {
  of(keyId: string): KeyBudget
}

/** @param maxMessageBytes The largest request, in bytes. */
export function keyBudgets(maxMessageBytes: number): KeyBudgets {
  // As many as there are keys.
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
 * Waits until a call that was let in may be at work. A stream may be open for hours, so nobody waits for one to end.
 *
 * @param stream The stream of the call, whose signal aborts when the stream closes.
 */
export function turnOf(
  connection: Connection,
  { identity, method, signal }: Call,
  stream: EventEmitter,
): Promise<void> | undefined {
  if (identity !== undefined && !connection.letIn(identity, stream)) throw tooMany("the key", "streams")
  if (method.methodKind === "unary") return connection.slots.take(stream, signal)
  if (connection.pipelines.takeFree(stream)) return undefined
  throw tooMany("the connection", "pipelines")
}

function tooMany(whose: string, what: string): Failure {
  return new Failure("OVERLOADED", {
    retryAfterMs: 1_000,
    message: `${whose} has as many ${what} as the service allows`,
  })
}

/** How long a client may take to read that its connection is closed, in milliseconds. */
const farewellMs = 5_000

/** The last stream that there can be: a GOAWAY with it refuses none (RFC 9113, section 6.8). */
const lastStreamId = 2 ** 31 - 1

/**
 * Closes a connection of HTTP/2 that has had no stream for `idleMs`, or whose client shows no valid key, with a GOAWAY: it may
 * connect again. Who shows no key is told so first, for what is on its way is answered; what comes after the connection was closed
 * is refused by Node, before anything is made of it.
 */
export function closeUnneeded(session: ServerHttp2Session, socket: Socket, known: Connection, idleMs: number): void {
  let streams = 0
  let timer: NodeJS.Timeout
  let isEnding = false
  const cut = () => {
    // A proxy may have sent calls of somebody who has a key over the same connection.
    if (known.isKnown && streams > 0) timer = setTimeout(cut, farewellMs).unref()
    else socket.destroy()
  }
  const cutLater = () => {
    if (isEnding) return
    isEnding = true
    clearTimeout(timer)
    timer = setTimeout(cut, farewellMs).unref()
  }
  const close = () => {
    if (!session.closed) session.close()
    cutLater()
  }
  known.onUnwelcome = () => {
    if (known.hasGoneOn) close()
    else if (!isEnding) session.goaway(constants.NGHTTP2_NO_ERROR, lastStreamId)
    cutLater()
  }
  const closeIdle = () => {
    if (streams === 0) close()
  }
  const wait = () => {
    // The streams of a connection that is gone end after it.
    if (isEnding || socket.destroyed) return
    clearTimeout(timer)
    timer = setTimeout(closeIdle, known.isKnown ? idleMs : Math.min(idleMs, limits.strangerIdleMs)).unref()
  }
  wait()
  session.on("stream", (stream) => {
    streams++
    stream.once("close", () => {
      streams--
      if (streams === 0) wait()
    })
  })
  socket.once("close", () => clearTimeout(timer))
}
