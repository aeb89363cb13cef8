import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Facts, MachineFacts } from "./facts.ts"
import type { FloodEffects } from "./load/effects.ts"
import type { Way } from "./load/probes.ts"
import type { Sent } from "./load/sides/flood-side.ts"
import type { Figure } from "./load/turns.ts"

/** The results of `make bench`. */
export interface WireResults {
  facts: Facts
  /** The size of the measurement. */
  users: number
  rounds: number
  windowMs: number
  operations: Figure[]
  /** The name of a figure is the number of users. */
  growth: Figure[]
}

/** The results of `make soak`. */
export interface SoakResults {
  facts: Facts
  minutes: number
  /** The number of calls. None of them failed. */
  calls: number
  /** Seconds since the start, and bytes after a garbage collection. */
  samples: { seconds: number; server: number; serverRss: number; client: number }[]
  cancelled: {
    calls: number
    /** The bytes of heap and the open handles, before and after. */
    server: { before: Held; after: Held }
    client: { before: Held; after: Held }
  }
}

/** The results of `make flood`. */
export interface FloodResults {
  facts: Facts
  /** The service's memory limit in MiB, if there is one. */
  memoryMib?: number | undefined
  seconds: number
  /** The factor by which the offered load exceeds the sustainable throughput, and the offered calls per second. */
  times: number
  offered: number
  /** The throughput of the pipeline with 32 callers, in calls per second. */
  sustainable: number
  floods: FloodFigure[]
}

/** The outcome of one flood, and its effects on an application with another key. */
export interface FloodFigure extends FloodEffects {
  /** Whether the senders' API key is valid. */
  isKeyKnown: boolean
  sent: Record<Way, Sent>
}

/** The results of `make attack`. */
export interface AttackResults {
  /** The service's memory limit in MiB; absent if there was none. */
  memoryMib?: number | undefined
  facts: MachineFacts
  /**
   * The planned seconds of each attack, the number of connections, and the seconds after an attack until the final
   * check.
   */
  seconds: number
  connections: number
  afterSeconds: number
  attacks: AttackFigure[]
}

/** An attack on a newly started service. */
export interface AttackFigure {
  name: string
  /** Whether it has an API key (with one scope). */
  hasKey: boolean
  /** Shorter than planned if the service's memory became too large for the machine. */
  seconds: number
  /** The number of streams or connections that were opened. */
  begun: number
  /** The service's memory: before, and the maximum during and after the attack. */
  idleBytes: number
  peakBytes: number
  /**
   * The checks of gRPC health and /readyz: the longest in milliseconds, their number, and the number without a good
   * answer.
   */
  health: { worst: number; asked: number; failed: number }
  /** The number of streams, or of connections that are not read, that the service had not closed at the end. */
  left: number
}

export interface Held {
  heapUsed: number
  /** The number of open handles of each kind. */
  handles: Record<string, number>
}

interface Results {
  wire: WireResults
  soak: SoakResults
  flood: FloodResults
  attack: AttackResults
}

/** Returns the committed results; undefined if there are none. */
export function readResults<Name extends keyof Results>(name: Name): Results[Name] | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`./results/${name}.json`, import.meta.url), "utf8"))
  } catch {
    return undefined
  }
}

/** Writes results. @param folder - The target folder. Trial results are kept apart from those of a full run. */
export function writeResults<Name extends keyof Results>(name: Name, results: Results[Name], folder: URL): void {
  mkdirSync(folder, { recursive: true })
  const text = JSON.stringify(results, null, 1)
  // Writes a list of numbers on one line.
  const short = text.replace(
    /\[\s*((?:[-\d.e]+|null)(?:,\s*(?:[-\d.e]+|null))*)\s*\]/g,
    (_, list: string) => `[${list.replace(/\s+/g, " ")}]`,
  )
  writeFileSync(new URL(`${name}.json`, folder), `${short}\n`)
}

export const resultsFolder = new URL("./results/", import.meta.url)
export const trialFolder = new URL("../build/bench/", import.meta.url)
