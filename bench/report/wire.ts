import { type ContenderName, contenderNames, contenders } from "../contenders/contenders.ts"
import type { Figure } from "../load/turns.ts"
import type { WireResults } from "../results.ts"
import { atLeast, atMost, type Goal, goalsTable, ratio } from "./goals.ts"
import { count, factsText, short, table } from "./markdown.ts"

/** The contender with which all others are compared. */
const authwire = "authwire-pipeline"

interface PeerGoal {
  operation: string
  peer: ContenderName
  callers: number
  /** The median time of a call, its 99th percentile, or calls per second. */
  of: "p50" | "p99" | "throughput"
  goal: number
}

/** The goals in comparison with peers. */
const peerGoals: readonly PeerGoal[] = [
  { operation: "getSessionAndUser", peer: "drizzle", callers: 32, of: "throughput", goal: 2.5 },
  { operation: "getSessionAndUser", peer: "drizzle", callers: 8, of: "throughput", goal: 1.3 },
  { operation: "getSessionAndUser", peer: "rest", callers: 1, of: "p50", goal: 1.05 },
  { operation: "getSessionAndUser", peer: "rest", callers: 1, of: "p99", goal: 2 },
  { operation: "createSession + deleteSession", peer: "drizzle", callers: 32, of: "throughput", goal: 1 },
  { operation: "session that is due", peer: "drizzle", callers: 32, of: "throughput", goal: 1 },
  { operation: "createSession + deleteSession", peer: "drizzle", callers: 1, of: "p50", goal: 1.5 },
]

/** Returns the tables of `make bench`. */
export function wireReport(results: WireResults): string {
  const { facts, operations, growth, rounds, windowMs, users } = results
  const shown = [...new Set(operations.map(({ operation }) => operation))]
  return [
    factsText(facts),
    `${count(users)} users, ${count(users * 2)} sessions. Each figure is the median of ${rounds} rounds for ` +
      `getSessionAndUser and growth, and of ${Math.min(3, rounds)} for the other operations. In a round each program under test has a ` +
      `turn of ${short(windowMs / 1000)} s, in a changing order; ratios are medians of the ratios of each round.`,
    ...cpuText(operations.filter(({ operation }) => cpuOperations.includes(operation))),
    goalsTable(wireGoals(results)),
    ...shown.flatMap((operation) => operationText(operations.filter((figure) => figure.operation === operation))),
    ...(growth.length > 0 ? growthText(growth) : []),
  ].join("\n\n")
}

/** The operations whose processor time is shown: the most frequent read and write. */
const cpuOperations: readonly string[] = ["getSessionAndUser", "createSession + deleteSession"]

/** The CPU time of a call, which other load on the machine hardly changes. */
function cpuText(figures: readonly Figure[]): string[] {
  const measured = [...new Set(figures.map(({ callers }) => callers))]
  const shown = measured.filter((callers) => callers === 1 || callers === 32)
  const columns = shown.length > 0 ? shown : measured.slice(-1)
  const milliseconds = (secondsPerTenThousand: number | null | undefined) =>
    secondsPerTenThousand == null ? "" : count(secondsPerTenThousand * 100)
  return [...new Set(figures.map(({ operation }) => operation))].flatMap((operation) => [
    `CPU of ${operation}, in milliseconds for 1,000 of them:`,
    table(
      ["", ...columns.flatMap((callers) => [`server, ${at(callers)}`, "caller", "MySQL"])],
      contenderNames
        .filter((name) => find(figures, name, columns[0] ?? 1, operation) !== undefined)
        .map((name) => [
          title(name),
          ...columns.flatMap((callers) => {
            const { clientCpu, serverCpu = [] } = find(figures, name, callers, operation) ?? {}
            const mysql = contenders[name].schema === null ? null : serverCpu[1]
            return [serverCpu[0], clientCpu, mysql].map(milliseconds)
          }),
        ]),
    ),
  ])
}

function operationText(figures: readonly Figure[]): string[] {
  // Eight callers are left out, so that the table stays narrow enough to read.
  const callers = [...new Set(figures.map((figure) => figure.callers))].filter((count) => count !== 8)
  const names = contenderNames.filter((name) => figures.some((figure) => figure.name === name))
  const cells = (name: string) =>
    callers.flatMap((count) => {
      const figure = find(figures, name, count)
      return figure === undefined ? ["", ""] : [`${short(figure.p50)} / ${short(figure.p99)}`, perSecond(figure)]
    })
  return [
    `### ${figures[0]?.operation}`,
    "Duration of a call in milliseconds, p50 / p99, and calls per second:",
    table(
      ["", ...callers.flatMap((count) => [at(count), "calls/s"])],
      names.map((name) => [title(name), ...cells(name)]),
    ),
  ]
}

function growthText(growth: readonly Figure[]): string[] {
  const [first = "", ...more] = [...new Set(growth.map(({ name }) => name))]
  const rows = growth
    .filter(({ name }) => name === first)
    .map((least) => {
      const text = ({ p50, throughput }: Figure) => `${short(p50)} / ${count(throughput)}`
      const others = more.flatMap((size) => {
        const figure = find(growth, size, least.callers, least.operation)
        return figure ? [text(figure), short(ratio(figure.rounds.p50, least.rounds.p50))] : ["", ""]
      })
      return [`${least.operation}, ${at(least.callers)}`, text(least), ...others]
    })
  return [
    "### Growth",
    "Through the pipeline: p50 in milliseconds / calls per second, by the number of users; × is the ratio of p50 to the first column:",
    table(["", count(Number(first)), ...more.flatMap((size) => [count(Number(size)), "×"])], rows),
  ]
}

/** Returns the goals. Goals without measured figures are left out. */
export function wireGoals({ operations, growth }: WireResults): Goal[] {
  const goals: Goal[] = []
  for (const { operation, peer, callers, of, goal } of peerGoals) {
    const [own, others] = [authwire, peer].map((name) => find(operations, name, callers, operation)?.rounds)
    if (!own || !others) continue
    const measured = ratio(own[of], others[of])
    const what = `${operation}, ${at(callers)}: ${of === "throughput" ? "calls/s" : of}, relative to ${title(peer)}`
    goals.push(of === "throughput" ? atLeast(what, goal, measured) : atMost(what, goal, measured))
  }
  const [least = "", ...more] = [...new Set(growth.map(({ name }) => name))]
  for (const { rounds, operation, callers } of growth.filter(({ name }) => name === least)) {
    const most = find(growth, more.at(-1) ?? "", callers, operation)
    if (most === undefined) continue
    const what = `${operation}, ${at(callers)}: duration of a call with ${count(Number(most.name))} users, relative to ${count(Number(least))}`
    const times = callers === 1 ? ratio(most.rounds.p50, rounds.p50) : ratio(rounds.throughput, most.rounds.throughput)
    goals.push(atMost(what, 1.15, times))
  }
  return goals
}

function find(figures: readonly Figure[], name: string, callers: number, operation?: string): Figure | undefined {
  return figures.find(
    (figure) =>
      figure.name === name && figure.callers === callers && (operation === undefined || figure.operation === operation),
  )
}

const perSecond = ({ throughput }: Figure) => count(throughput)
const title = (name: ContenderName) => contenders[name].title
const at = (callers: number) => (callers === 1 ? "1 caller" : `${callers} callers`)
