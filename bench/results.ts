import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Facts, MachineFacts } from "./facts.ts"
import type { Seen, Watched, Way } from "./load/probes.ts"
import type { Sent } from "./load/sides/flood-side.ts"
import type { Figure } from "./load/turns.ts"

/** What `make bench` measured. */
export interface WireResults {
  facts: Facts
  /** How much of everything. */
  users: number
  rounds: number
  windowMs: number
  operations: Figure[]
  /** Named by the number of users. */
  growth: Figure[]
}

/** What `make soak` measured. */
export interface SoakResults {
  facts: Facts
  minutes: number
  /** How many were made; none failed. */
  calls: number
  /** Seconds since the start, and bytes after a collection. */
  samples: { seconds: number; server: number; serverRss: number; client: number }[]
  cancelled: {
    calls: number
    /** Bytes of heap and open handles, before and after. */
    server: { before: Held; after: Held }
    client: { before: Held; after: Held }
  }
}

/** What `make flood` measured. */
export interface FloodResults {
  facts: Facts
  /** What the service has, if that is bounded. */
  memoryMib?: number | undefined
  seconds: number
  /** How many times the sustainable calls of the pipeline are offered, and how many calls a second that is. */
  times: number
  offered: number
  /** Calls a second, 32 at a time, through the pipeline. */
  sustainable: number
  floods: FloodFigure[]
}

/** What became of one flood, and of what an application with a key of its own did beside it. */
export interface FloodFigure {
  /** Whether the service knows the key of the senders. */
  isKeyKnown: boolean
  sent: Record<Way, Sent>
  /** The part of a core that the server had during the flood. */
  serverCpu: number
  /** Of the server: before, and at the most until it was over for five seconds. */
  quietBytes: number
  mostBytes: number
  seen: Record<Watched, Seen>
}

/** What `make attack` measured. */
export interface AttackResults {
  /** What the service had, in MiB; absent where nothing bounded it. */
  memoryMib?: number | undefined
  facts: MachineFacts
  /** How long each attack was to go on, over how many connections, and how long after it was looked again. */
  seconds: number
  connections: number
  afterSeconds: number
  attacks: AttackFigure[]
}

/** An attack on a service of its own. */
export interface AttackFigure {
  name: string
  /** Whether it has a key, of one scope. */
  hasKey: boolean
  /** Less than it was to be if the service took too much memory for this machine. */
  seconds: number
  /** Streams or connections that were opened. */
  begun: number
  /** Of the service: before, and the most during it and after. */
  idleBytes: number
  peakBytes: number
  /** Milliseconds, and how many questions had no good answer, of gRPC health and of /readyz. */
  health: { worst: number; asked: number; failed: number }
  /** Streams, or connections that nobody reads, which the service had not closed at the end. */
  left: number
}

export interface Held {
  heapUsed: number
  /** How many of each kind. */
  handles: Record<string, number>
}

interface Results {
  wire: WireResults
  soak: SoakResults
  flood: FloodResults
  attack: AttackResults
}

/** The results that are committed; undefined if there are none. */
export function readResults<Name extends keyof Results>(name: Name): Results[Name] | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`./results/${name}.json`, import.meta.url), "utf8"))
  } catch {
    return undefined
  }
}

/** @param folder - Where to: those of a trial do not stand beside those of a full run. */
export function writeResults<Name extends keyof Results>(name: Name, results: Results[Name], folder: URL): void {
  mkdirSync(folder, { recursive: true })
  const text = JSON.stringify(results, null, 1)
  // A list of numbers on one line.
  const short = text.replace(
    /\[\s*((?:[-\d.e]+|null)(?:,\s*(?:[-\d.e]+|null))*)\s*\]/g,
    (_, list: string) => `[${list.replace(/\s+/g, " ")}]`,
  )
  writeFileSync(new URL(`${name}.json`, folder), `${short}\n`)
}

export const resultsFolder = new URL("./results/", import.meta.url)
export const trialFolder = new URL("../build/bench/", import.meta.url)
