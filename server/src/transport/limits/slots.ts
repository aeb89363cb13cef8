import type { EventEmitter } from "node:events"

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
