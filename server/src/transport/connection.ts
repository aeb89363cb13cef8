import type { EventEmitter } from "node:events"
import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import type { DescMethod } from "@bufbuild/protobuf"
import { Budget, type Budgets } from "../overload/budget.js"
import { Failure } from "../rpc/errors.js"
import type { Identity } from "../rpc/identity.js"
import { bucket } from "../rpc/interceptors/rate-limit.js"
import { Slots } from "./budgets/slots.js"
import { limits } from "./limits.js"

/** What is known of a connection, and what it may hold. */
export class Connection implements Budgets {
  readonly requests: Budget
  readonly answers: Budget
  /** For the unary calls of methods that need a key. */
  readonly slots = new Slots(limits.streamsAtWork)
  /** For the pipelines. */
  readonly pipelines = new Slots(limits.pipelines)
  /** Whom the client's certificate names, see Incoming. */
  readonly certificateNames: readonly string[] | undefined
  /** Takes one of the requests that it may make in a second without a key; 0, or for how many milliseconds there is none. */
  readonly takeOpenRequest = bucket(limits.openRequestsPerSecond, () => performance.now())
  #isKnown = false

  readonly #keys: KeyBudgets | undefined

  /** @param maxMessageBytes The largest request, in bytes. */
  constructor(maxMessageBytes: number, certificateNames: readonly string[] | undefined, keys?: KeyBudgets) {
    // Two of the largest messages, with what is around them.
    this.requests = new Budget(Math.max(limits.requestBytes, 2.5 * maxMessageBytes))
    this.answers = new Budget(limits.answerBytes, limits.answerBytesForMore)
    this.certificateNames = certificateNames
    this.#keys = keys
  }

  /** Whether a call that came over it was let in. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** A call that came over it was let in: what it holds is held to the account of the first key, too. */
  letIn({ keyId }: Identity): void {
    if (this.#isKnown) return
    this.#isKnown = true
    if (keyId === undefined || this.#keys === undefined) return
    const { requests, answers } = this.#keys.of(keyId)
    this.requests.belongTo(requests)
    this.answers.belongTo(answers)
  }
}

/** What each key may hold, over all connections to a process. */
export interface KeyBudgets {
  of(keyId: string): Budgets
}

/** @param maxMessageBytes The largest request, in bytes. */
export function keyBudgets(maxMessageBytes: number): KeyBudgets {
  // As many as there are keys.
  const known = new Map<string, Budgets>()
  return {
    of(keyId) {
      let budgets = known.get(keyId)
      if (budgets === undefined) {
        const requests = new Budget(Math.max(limits.keyRequestBytes, 2.5 * maxMessageBytes))
        budgets = { requests, answers: new Budget(limits.keyAnswerBytes, limits.keyAnswerBytesForMore) }
        known.set(keyId, budgets)
      }
      return budgets
    },
  }
}

/**
 * Waits until a call that was let in may be at work. A stream may be open for hours, so nobody waits for one to end.
 *
 * @param signal Ends the wait, with its reason. Aborts when the stream closes.
 */
export function turnOf(
  { slots, pipelines }: Connection,
  { methodKind }: DescMethod,
  stream: EventEmitter,
  signal: AbortSignal,
): Promise<void> | undefined {
  if (methodKind === "unary") return slots.take(stream, signal)
  if (pipelines.takeFree(stream)) return undefined
  const message = "the connection has as many pipelines as the service allows"
  throw new Failure("OVERLOADED", { retryAfterMs: 1_000, message })
}

/** How long a client may take to read that its connection is closed, in milliseconds. */
const farewellMs = 5_000

/** Closes a connection of HTTP/2 that has had no stream for `idleMs`, with a GOAWAY: its client may connect again. */
export function closeWhenIdle(session: ServerHttp2Session, socket: Socket, known: Connection, idleMs: number): void {
  let streams = 0
  let timer: NodeJS.Timeout
  const close = () => {
    if (streams > 0) return
    session.close()
    timer = setTimeout(() => socket.destroy(), farewellMs).unref()
  }
  const wait = () => {
    clearTimeout(timer)
    // The streams of a connection that is gone end after it.
    if (socket.destroyed) return
    timer = setTimeout(close, known.isKnown ? idleMs : Math.min(idleMs, limits.strangerIdleMs)).unref()
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
