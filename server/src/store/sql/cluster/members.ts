import { refusalOf } from "../../../errors/refusal.js"
import { orAborted } from "../../../util/abort.js"
import { peerSignal } from "../../../util/peer-timeout.js"
import type { SqlEngine } from "../engine/engine.js"
import type { MemberState } from "../engine/mysql/member-state.js"
import type { MysqlEngine } from "../engine/mysql/mysql.js"
import type { ServerLocation } from "../engine/url/url.js"
import { failsBy, StatementError } from "../query/statement-error.js"
import { connectToMember, type MemberConnection, silentMs } from "./member-connection.js"

/** A change of the member in use. `member` is its HOST:PORT, or undefined if there is none. */
export interface MemberEvent {
  member: string | undefined
  /** For each member that was asked and rejected, the reason. */
  reasons: readonly string[]
}

export interface MembersOptions {
  /** Returns the locations of the members in order of preference. It is called whenever a member is selected. */
  locate: () => Promise<readonly ServerLocation[]>
  /** Returns why a member is unfit for this use; undefined if it is fit. */
  unfit: (state: MemberState) => string | undefined
  /** Returns whether no other member can be fit while this one is. */
  isOnlyFit: (state: MemberState) => boolean
  /** Opens the engine that runs statements on a member. */
  open: (location: ServerLocation) => Promise<MysqlEngine>
  /** How long a caller waits for a member while there is none, in milliseconds. */
  waitMs: number
  onChange?: ((event: MemberEvent) => void) | undefined
}

/** The members of a cluster, one of which is in use. */
export interface Members {
  /**
   * Returns the engine of the member in use. While there is none, waits for the next one. Throws StatementError
   * "unavailable".
   */
  engine(): Promise<SqlEngine>
  /** Checks the member in use at once, because something failed there. */
  suspect(): void
  close(): Promise<void>
}

interface Member {
  location: ServerLocation
  engine: MysqlEngine
  connection: MemberConnection
}

/** The answer of a member: its connection if it is fit, otherwise the reason. */
type Answer = { location: ServerLocation; isAnswered: boolean } & (Pick<Member, "connection"> | { reason: string })
type Fit = Pick<Member, "location" | "connection">

/**
 * How often the member in use is checked, and how often all members are checked while none is in use, in milliseconds.
 */
const askEveryMs = 500
const lookEveryMs = 200
/**
 * How long a member that no longer accepts writes may answer active statements, in milliseconds. It rejects them with
 * an error that says so.
 */
const lastAnswersMs = 1_000

/**
 * Selects a member of a cluster and follows changes. It keeps a member until the member reports that it is unfit or
 * cannot be reached. A silent member is kept until another one is fit, because it may only be slow. If only one member
 * can be fit, a member also counts as silent if it reports to be fit while its statements hang: a primary that shuts
 * down does so for seconds after its group has elected another one. The connections of a member are ended before the
 * next one is taken. The next one is the first fit member in the configured order; the member that was left last is
 * tried last. While there is none, all members are checked repeatedly. Throws StatementError if no member answers at
 * the start and `waitMs` is not 0.
 */
export async function followMembers({
  locate,
  unfit,
  isOnlyFit,
  open,
  waitMs,
  onChange,
}: MembersOptions): Promise<Members> {
  let inUse: Member | undefined
  let left: ServerLocation | undefined
  let next = nextMember()
  /** Why there was no fit member in the last selection, and whether any member has answered since the start. */
  let reasons: string[] = []
  let isAnswered = false
  let round: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function ask(location: ServerLocation): Promise<Answer> {
    let connection: MemberConnection | undefined
    try {
      connection = await connectToMember(location)
      const reason = unfit(await connection.ask())
      if (reason === undefined) return { location, connection, isAnswered: true }
      connection.close()
      return { location, reason, isAnswered: true }
    } catch (error) {
      connection?.close()
      return { location, reason: reasonOf(error), isAnswered: false }
    }
  }

  async function stateOf(member: Member): Promise<"fit" | "unfit" | "silent" | "gone"> {
    try {
      const state = await member.connection.ask()
      if (unfit(state) !== undefined) return "unfit"
      return isOnlyFit(state) && member.engine.oldestMs() > silentMs ? "silent" : "fit"
    } catch (error) {
      if (failsBy(error, "timeout")) return "silent"
    }
    // Perhaps only the connection was lost.
    const answer = await ask(member.location)
    if (!("connection" in answer)) return answer.isAnswered ? "unfit" : "gone"
    replaceConnection(member, answer.connection)
    return "fit"
  }

  async function leave({ location, engine, connection }: Member, answersMs: number): Promise<void> {
    inUse = undefined
    left = location
    next = nextMember()
    connection.close()
    await engine.idle(answersMs)
    // Not awaited, because a silent member would not acknowledge the end of a connection.
    void engine.close().catch(() => {})
    onChange?.({ member: undefined, reasons: [] })
  }

  async function choose(): Promise<void> {
    const last = inUse?.location ?? left
    const isLast = (location: ServerLocation) => last !== undefined && nameOf(location) === nameOf(last)
    const located = await locate()
    const answers = [...located.filter((one) => !isLast(one)), ...located.filter(isLast)].map(ask)
    const found: string[] = []
    for (const [index, asked] of answers.entries()) {
      const answer = await asked
      const problem = "connection" in answer ? await take(answer, found) : answer.reason
      if (problem === undefined) {
        for (const other of answers.slice(index + 1)) void other.then(hangUp)
        return
      }
      found.push(`${nameOf(answer.location)}: ${problem}`)
      isAnswered ||= answer.isAnswered
    }
    reasons = found
  }

  /** Takes the member into use. Returns the reason if that fails. */
  async function take({ location, connection }: Fit, reasons: readonly string[]): Promise<string | undefined> {
    if (inUse !== undefined && nameOf(inUse.location) === nameOf(location)) {
      replaceConnection(inUse, connection)
      return undefined
    }
    if (inUse !== undefined) await leave(inUse, 0)
    try {
      const engine = await open(location)
      inUse = { location, engine, connection }
      next.resolve(engine)
      onChange?.({ member: nameOf(location), reasons })
      return undefined
    } catch (error) {
      connection.close()
      return reasonOf(error)
    }
  }

  async function look(): Promise<void> {
    const state = inUse === undefined ? "gone" : await stateOf(inUse)
    if (state === "fit") return
    if (inUse !== undefined && state !== "silent") await leave(inUse, state === "unfit" ? lastAnswersMs : 0)
    if (!isClosed) await choose()
  }

  function check(): Promise<void> {
    clearTimeout(timer)
    round ??= look().finally(() => {
      round = undefined
      if (!isClosed) timer = setTimeout(check, inUse === undefined ? lookEveryMs : askEveryMs)
    })
    return round
  }

  const none = () => new StatementError("unavailable", `no member of the cluster can be used: ${reasons.join("; ")}`)

  const members: Members = {
    async engine() {
      if (inUse !== undefined) return inUse.engine
      if (waitMs === 0) throw none()
      return orAborted(next.promise, peerSignal(waitMs)).catch(() => {
        throw none()
      })
    },
    suspect() {
      if (!isClosed) void check()
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      next.reject(none())
      await round
      inUse?.connection.close()
      await inUse?.engine.close()
    },
  }
  await check()
  if (inUse === undefined && !isAnswered && waitMs > 0) {
    const error = none()
    await members.close()
    throw error
  }
  return members
}

function nextMember() {
  const next = Promise.withResolvers<SqlEngine>()
  next.promise.catch(() => {})
  return next
}

function replaceConnection(member: Member, connection: MemberConnection): void {
  member.connection.close()
  member.connection = connection
}

function hangUp(answer: Answer): void {
  if ("connection" in answer) answer.connection.close()
}

function nameOf({ host, address, port }: ServerLocation): string {
  const name = address ?? host
  return name.includes(":") ? `[${name}]:${port}` : `${name}:${port}`
}

/** Returns the cause of an error, or its name, without values. */
function reasonOf(error: unknown): string {
  if (error instanceof StatementError) return refusalOf(error)
  return error instanceof Error ? error.name : "an error"
}
