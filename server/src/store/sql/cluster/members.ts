import { orAborted } from "../../../util/abort.js"
import type { SqlEngine } from "../engine/engine.js"
import type { MysqlEngine } from "../engine/mysql/mysql.js"
import { failsBy, StatementError } from "../engine/statement-error.js"
import type { ServerLocation } from "../engine/url.js"
import { connectToMember, type MemberConnection, silentMs } from "./member-connection.js"
import type { MemberState } from "./member-state.js"

/** The member that is in use from now on, as HOST:PORT; undefined: there is none. */
export interface MemberEvent {
  member: string | undefined
  /** Why each member that was asked is not used. */
  reasons: readonly string[]
}

export interface MembersOptions {
  /** Where the members are, in the order in which they are preferred. Asked again whenever one is looked for. */
  locate: () => Promise<readonly ServerLocation[]>
  /** Why a member is of no use here. */
  unfit: (state: MemberState) => string | undefined
  /** Whether no other member can be fit as long as this one is. */
  isOnlyFit: (state: MemberState) => boolean
  /** Opens what runs statements on a member. */
  open: (location: ServerLocation) => Promise<MysqlEngine>
  /** How long who asks for a member waits while there is none, in milliseconds. */
  waitMs: number
  onChange?: ((event: MemberEvent) => void) | undefined
}

/** The members of a cluster, one of which is in use. */
export interface Members {
  /** The engine of the member in use; while there is none, the next. Throws StatementError "unavailable". */
  engine(): Promise<SqlEngine>
  /** Has the member in use asked at once, because something failed there. */
  suspect(): void
  close(): Promise<void>
}

interface Member {
  location: ServerLocation
  engine: MysqlEngine
  connection: MemberConnection
}

/** A member that was asked: the connection to it, or the reason why it is of no use. */
type Answer = { location: ServerLocation; isAnswered: boolean } & (Pick<Member, "connection"> | { reason: string })
type Fit = Pick<Member, "location" | "connection">

/** How often the member in use is asked, and, while there is none, all of them. */
const askEveryMs = 500
const lookEveryMs = 200
/** How long a member that takes no writes any more may answer what is active there: it rejects it in words that say so. */
const lastAnswersMs = 1_000

/**
 * Keeps to one member until it says that it is not fit or cannot be reached; one that is silent, until another one is fit: it
 * may only be slow. As silent counts one that says it is fit while its statements stand still, where only one can be: a primary
 * that shuts down says so for seconds after its group has elected another one. Its connections are ended before the next one is taken: the first in the order in which they were named,
 * and the one that was left last of all. While there is none, all are asked again and again. Throws StatementError when
 * nobody answers at the start and `waitMs` is not 0.
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
  /** Why there is no member, as of the last look, and whether any has answered since the start. */
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
    // The connection may have been all that was lost.
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
    // A member that is silent would not say goodbye.
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

  /** Why it cannot be taken, if it cannot. */
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
      return orAborted(next.promise, AbortSignal.timeout(waitMs)).catch(() => {
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

/** What went wrong, in a word of the system or the database, which quotes nothing. */
function reasonOf(error: unknown): string {
  if (error instanceof StatementError) return error.code ?? error.message
  return error instanceof Error ? error.name : "an error"
}
