// A global of a test is looked up in the context that jest makes for it, which takes longer than the multiplication.
const { imul, floor } = Math

/** Returns a generator of random numbers from 0 to 1 that is deterministic for a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  // A signed 32-bit integer, because a larger number would be allocated on the heap each time.
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Event {
  at: number
  /** Undefined once it is cancelled. */
  run: (() => void) | undefined
}

/** Simulated time that advances from event to event, in milliseconds. */
export class Simulation {
  time = 0
  readonly random: () => number
  /** The last one is the next. */
  readonly #events: Event[] = []

  constructor(seed: number) {
    this.random = randomOf(seed)
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least)
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[floor(this.random() * items.length)] as T
  }

  /** Schedules a call. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    const event: Event = { at: this.time + Math.max(0, ms), run }
    // After those of the same moment.
    const at = this.#events.findLastIndex((other) => other.at > event.at) + 1
    this.#events.splice(at, 0, event)
    return () => {
      event.run = undefined
    }
  }

  delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs until a moment. Promises that an event has settled continue before the next event. */
  async run(until: number): Promise<void> {
    for (let event = this.#events.at(-1); event !== undefined && event.at <= until; event = this.#events.at(-1)) {
      this.#events.pop()
      if (event.run === undefined) continue
      this.time = event.at
      event.run()
      for (let turn = 0; turn < 12; turn++) await undefined
    }
    this.time = until
  }
}

/** A simulated process. Its clock runs slightly fast or slow. It can be frozen, alone or with its machine, and killed. */
export class Process {
  readonly #simulation: Simulation
  readonly #rate: number
  /** For how long the machine was suspended, and how far the wall clock was set forward, in milliseconds. */
  #suspendedMs = 0
  #aheadMs = 0
  #frozen = false
  #waiting: (() => void)[] = []
  isDead = false

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    this.#rate = simulation.between(0.992, 1.008)
  }

  /** The monotonic clock, which stops while the machine is suspended. */
  readonly now = (): number => 1_000_000 + (this.#simulation.time - this.#suspendedMs) * this.#rate

  /** A clock that also advances while the machine is suspended, and when its wall clock is set forward. */
  readonly elapsed = (): number => 1_000_000 + this.#simulation.time * this.#rate + this.#aheadMs

  get isFrozen(): boolean {
    return this.#frozen
  }

  /** Runs an action in this process: delayed while it is frozen, and never after its end. */
  do(run: () => void): void {
    if (this.isDead) return
    if (this.#frozen) this.#waiting.push(run)
    else run()
  }

  readonly after = (ms: number, run: () => void): (() => void) => {
    let isOff = false
    const cancel = this.#simulation.after(ms / this.#rate, () => this.do(() => isOff || run()))
    return () => {
      isOff = true
      cancel()
    }
  }

  /** A promise from outside, whose result this process observes. */
  see<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.do(() => resolve(value)),
        (error) => this.do(() => reject(error)),
      )
    })
  }

  setForward(ms: number): void {
    this.#aheadMs += ms
  }

  freeze(ms: number, withMachine = false): void {
    if (this.#frozen || this.isDead) return
    this.#frozen = true
    this.#simulation.after(ms, () => {
      this.#frozen = false
      if (withMachine) this.#suspendedMs += ms
      // Runs the delayed actions, whose order is defined only within each stream.
      const waiting = this.#waiting
      this.#waiting = []
      for (const run of waiting) this.do(run)
    })
  }

  kill(): void {
    this.isDead = true
    this.#waiting = []
  }
}
