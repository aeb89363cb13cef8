import { create, type DescMethod, type Message } from "@bufbuild/protobuf"
import { Failure, toFailure } from "../errors/failure.js"
import type { CallCosts } from "../overload/call-costs.js"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import { isByLimit, type RejectionPause, rejectionMs } from "../overload/pause.js"
import { orAborted } from "../util/abort.js"
import type { Owner } from "../util/owner.js"
import type { Turn, turnIfLarge } from "../util/turn-limit.js"
import type { Call } from "./call.js"
import type { Admission, CallEnded, Stream, Unary } from "./interceptor.js"

/** Reads the request of a call. */
export type Read<T> = () => T | Promise<T>

/** What a call of a method passes. */
export interface Parts {
  /** See `admission`. */
  admit: (call: Call) => Promise<void> | undefined
  /** The handler in its interceptors. */
  unary: Unary
  /** The limit of active calls; undefined if there is none. */
  limit: ConcurrencyLimit | undefined
  costs: CallCosts
  /** Awaited before the answer is encoded of a call that costs more than others. */
  turn: Turn<Owner>
  /** See Router. */
  requestTurn: ReturnType<typeof turnIfLarge<Owner>>
  /** A clock for durations, in milliseconds. */
  clock: () => number
  /** Records the end of the call, with its failure if it failed. */
  ended: CallEnded
  /** Awaited before a counted call is answered that a limit has rejected. A pipeline pauses once for all calls of a message. */
  pauseAfter: RejectionPause
}

/** How a method reads requests and returns answers. */
interface Coding<I, O> {
  decode(input: I): Message
  /** Returns the size of a request that is to be decoded, in bytes. */
  bytesIn(input: I): number
  encode(answer: Message, call: Call): O | Promise<O>
  /** Returns about the size of an answer, in bytes. */
  bytesOf(encoded: O): number
}

/** Joins admissions. Synchronous where none has to wait, so that calls of one message are admitted in order. */
export function admission(admissions: readonly Admission[]): Parts["admit"] {
  const from = (call: Call, first: number): Promise<void> | undefined => {
    for (let at = first; at < admissions.length; at++) {
      const pending = admissions[at]?.(call)
      if (pending !== undefined) return pending.then(() => from(call, at + 1))
    }
    // Not before: a call whose deadline has passed needs a valid key and counts against the rate limit too.
    call.signal.throwIfAborted()
    return call.acquireSlot()
  }
  return (call) => from(call, 0)
}

/**
 * Returns the function that runs unary calls. A call whose request has not arrived yet returns its slot in the concurrency
 * limit, and takes one again with the request.
 */
export function runUnary<I, O>(
  { admit, unary, limit, costs, turn, requestTurn, clock, ended, pauseAfter }: Parts,
  { decode, bytesIn, encode, bytesOf }: Coding<I, O>,
): (read: Read<I>, call: Call) => Promise<O> {
  return async (read, call) => {
    const begun = clock()
    let hasEntered = false
    let request: Message | undefined
    try {
      const admitting = admit(call)
      if (admitting !== undefined) await admitting
      // There is no memory left for the request.
      if (call.connection?.requests.isTight === true) throw requestBudgetUsed()
      // The client does not read its answers, so this one would only add to them.
      if (call.connection?.answers.isTight === true) throw answerBudgetUsed()
      call.cost = costs.of(call.owner)
      const entering = limit?.enter(call.owner, call.signal, call.cost)
      if (entering !== undefined) await entering
      call.admittedBy = limit
      hasEntered = true
      let input: I | Promise<I> | undefined = read()
      if (input instanceof Promise) {
        call.leaveLimit()
        hasEntered = false
        input = await orAborted<I>(input, call.signal)
        const again = limit?.enter(call.owner, call.signal, call.cost)
        if (again !== undefined) await again
        call.admittedBy = limit
        hasEntered = true
      }
      // The work of a call that costs more than others begins in a turn, too.
      const beginning =
        call.cost > 1
          ? orAborted(turn(call.owner, call.signal), call.signal)
          : requestTurn(call.owner, bytesIn(input as I), call.signal)
      if (beginning !== undefined) await beginning
      request = decode(input as I)
      // The bytes are not kept for the duration of the call.
      input = undefined
      // A call ends at its deadline even if its handler cannot stop at once. The handler's result is then discarded, and its
      // transaction ends by itself.
      const answer = await orAborted(unary(request, call), call.signal)
      if (call.cost > 1) {
        await orAborted(turn(call.owner, call.signal), call.signal)
      }
      const encoding = encode(answer, call)
      const encoded = encoding instanceof Promise ? await orAborted<O>(encoding, call.signal) : encoding
      costs.answered(call.owner, bytesOf(encoded))
      ended(call, undefined, begun, clock(), request, answer)
      return encoded
    } catch (error) {
      const failure = toFailure(error)
      const pauses = !hasEntered && call.isCounted && isByLimit(failure)
      if (pauses) await pauseAfter(rejectionMs.unary)
      ended(call, failure, begun, clock(), request)
      throw failure
    } finally {
      call.leaveLimit()
    }
  }
}

/** Returns the function that runs streaming calls. */
export function runStream(
  { output }: DescMethod,
  { admit, clock, ended, pauseAfter }: Pick<Parts, "admit" | "clock" | "ended" | "pauseAfter">,
  stream: Stream,
): Stream {
  return async function* (requests, call) {
    const begun = clock()
    let [hasAnswered, hasFailed] = [false, false]
    try {
      await admit(call)
      call.signal.throwIfAborted()
      for await (const answer of stream(requests, call)) {
        // While the stream was suspended, it may have been aborted because its key was revoked. Health tells of a shutdown.
        if (call.identity !== undefined) call.signal.throwIfAborted()
        hasAnswered = true
        yield create(output, answer)
      }
      // An aborted stream ends with the reason.
      call.signal.throwIfAborted()
    } catch (error) {
      hasFailed = true
      const failure = toFailure(error)
      const pauses = !hasAnswered && call.isCounted && isByLimit(failure)
      if (pauses) await pauseAfter(rejectionMs.stream)
      ended(call, failure, begun, clock())
      throw failure
    } finally {
      // This also runs when the reader of the answers ends early.
      if (!hasFailed) ended(call, undefined, begun, clock())
    }
  }
}

/** Creates the rejection of a call whose request has no memory left. The client may retry. */
function requestBudgetUsed(): Failure {
  const message = "the incomplete requests of the connection or of the API key have reached their memory limit"
  return new Failure("OVERLOADED", { retryAfterMs: 200, message })
}

/** Creates the rejection of a call whose client does not read its answers. A client that is only slow may retry. */
function answerBudgetUsed(): Failure {
  return new Failure("ANSWERS_NOT_TAKEN", { retryAfterMs: 200 })
}
