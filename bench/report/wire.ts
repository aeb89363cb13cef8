import { type ContenderName, contenderNames, contenders } from "../contenders/contenders.ts"
import type { Facts } from "../facts.ts"
import { operationNames } from "../load/operations.ts"
import type { Figure } from "../load/turns.ts"
import type { WireResults } from "../results.ts"
import { type Goal, wireGoals } from "./goals.ts"
import { count, mebibytes, short, table } from "./markdown.ts"
import { plotBars, plotLines } from "./plots.ts"

/** The tables of `make bench`, with references to the plots that `wirePlots` writes. */
export function wireReport(results: WireResults): string {
  const { facts, operations, growth, memory, workers, access = [], rounds, windowMs, users } = results
  const shown = operationNames.filter((name) => operations.some(({ operation }) => operation === name))
  return [
    factsText(facts),
    `${count(users)} users, ${count(users * 2)} sessions. Each figure is the median of ${rounds} rounds for ` +
      `getSessionAndUser and growth, and of ${Math.min(3, rounds)} for the other operations. In a round everyone has a ` +
      `turn of ${short(windowMs / 1000)} s, in an order that changes; ratios are medians of the ratios of each round.`,
    goalsTable(wireGoals(results)),
    "![calls per second of each operation](performance/operations.svg)",
    ...shown.flatMap((operation) => operationText(operation, operations)),
    ...(growth.length > 0 ? growthText(growth) : []),
    ...(memory.length > 0
      ? [
          "### Idle clients",
          table(
            ["streams of the pipeline", "connections", "RSS of the server", "heap", "for each stream"],
            memory.map(({ streams, connections, rss, heapUsed, bytesPerStream }) => [
              ...[count(streams), count(connections), mebibytes(rss), mebibytes(heapUsed)],
              streams < 100 ? "" : `${(bytesPerStream / 1024).toFixed(1)} KiB`,
            ]),
          ),
        ]
      : []),
    ...(workers.length > 0 ? ["### Workers", figuresTable("workers", workers)] : []),
    ...(access.length > 0
      ? [
          "### Who calls",
          "One service checks the key, the scope and the rate of each call, the other lets everybody in:",
          figuresTable("", access),
        ]
      : []),
  ].join("\n\n")
}

function figuresTable(what: string, figures: readonly Figure[]): string {
  return table(
    [what, "callers", "p50, ms", "p99, ms", "calls/s", "CPU: client", "server", "MySQL"],
    figures.map(({ name, callers, p50, p99, throughput, clientCpu, serverCpu }) => [
      ...[name, count(callers), short(p50), short(p99), count(throughput)],
      ...[clientCpu, serverCpu[0], serverCpu[1]].map(short),
    ]),
  )
}

/** The plots of `make bench`. */
export async function wirePlots({ operations, growth }: WireResults): Promise<void> {
  const sessions = operations.filter(({ operation }) => operation === "getSessionAndUser")
  await plotLines("get-session-and-user", {
    title: "getSessionAndUser",
    x: "callers at a time",
    y: "calls per second",
    points: sessions
      .filter(({ name }) => kind(name) !== "floor")
      .map(({ name, callers, throughput }) => ({ x: callers, y: throughput, line: title(name) })),
    lines: contenderNames.filter((name) => kind(name) !== "floor").map(title),
    ordinal: true,
  })
  await plotBars("operations", {
    title: "Calls per second, 32 callers",
    x: "calls/s",
    columns: 2,
    bars: operations
      .filter(({ callers, name }) => callers === 32 && kind(name) !== "floor")
      .map(({ operation, name, throughput }) => ({ group: operation, name: title(name), value: throughput })),
  })
  if (growth.length === 0) return
  await plotLines("growth", {
    title: "Calls per second, 32 callers, by users in the database",
    x: "users",
    y: "calls per second",
    points: growth
      .filter(({ callers }) => callers === 32)
      .map(({ operation, name, throughput }) => ({ x: Number(name), y: throughput, line: operation })),
    ordinal: true,
  })
}

export function factsText(facts: Facts): string {
  const versions = Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`)
  const settings = Object.entries(facts.settings).map(([name, value]) => `\`${name}\` ${value}`)
  return `Measured on ${facts.date.replace("T", " ").replace("Z", " UTC")} at commit ${facts.commit}: ${facts.cores} × ${facts.cpu}, ${facts.memoryGib} GiB, Linux ${facts.kernel},
Node ${facts.node}, ${facts.mysql} (${settings.join(", ")}) on the same machine; ${versions.join(", ")}.`
}

export function goalsTable(goals: readonly Goal[]): string {
  return table(
    ["", "goal", "measured", ""],
    goals.map(({ what, goal, measured, met }) => [what, goal, short(measured), met ? "met" : "**not met**"]),
  )
}

function operationText(operation: string, figures: readonly Figure[]): string[] {
  const shown = figures.filter((figure) => figure.operation === operation)
  const callers = [...new Set(shown.map((figure) => figure.callers))]
  const names = contenderNames.filter((name) => shown.some((figure) => figure.name === name))
  const find = (name: string, count: number) => shown.find((figure) => figure.name === name && figure.callers === count)
  const busy = callers.includes(32) ? 32 : (callers.at(-1) ?? 1)
  const at = (count: number) => (count === 1 ? "1 caller" : `${count} callers`)
  const plot =
    operation === "getSessionAndUser" ? ["![calls per second by callers](performance/get-session-and-user.svg)"] : []
  return [
    `### ${operation}`,
    "Milliseconds of a call, p50 / p99:",
    table(
      ["", ...callers.map(at)],
      names.map((name) => [
        title(name),
        ...callers.map((count) => {
          const figure = find(name, count)
          return figure ? `${short(figure.p50)} / ${short(figure.p99)}` : ""
        }),
      ]),
    ),
    `Calls per second; and seconds of CPU for 10,000 calls, at ${at(busy)}, of the process that calls, of the server, of MySQL:`,
    table(
      ["", ...callers.map(at), "CPU: caller", "server", "MySQL"],
      names.map((name) => {
        const { clientCpu, serverCpu = [] } = find(name, busy) ?? {}
        return [
          title(name),
          ...callers.map((callers) => count(find(name, callers)?.throughput ?? Number.NaN)),
          ...[clientCpu, serverCpu[0], contenders[name].schema === null ? null : serverCpu[1]].map(short),
        ]
      }),
    ),
    ...plot,
  ]
}

function growthText(growth: readonly Figure[]): string[] {
  const sizes = [...new Set(growth.map(({ name }) => name))]
  const rows = [...new Set(growth.map(({ operation, callers }) => `${operation}|${callers}`))].map((key) => {
    const [operation, callers] = key.split("|")
    const cells = sizes.map((size) => {
      const figure = growth.find(
        (figure) => figure.operation === operation && String(figure.callers) === callers && figure.name === size,
      )
      return figure ? `${short(figure.p50)} / ${count(figure.throughput)}` : ""
    })
    return [`${operation}, ${callers === "1" ? "1 caller" : `${callers} callers`}`, ...cells]
  })
  return [
    "### Growth",
    "Through the pipeline: p50 in milliseconds / calls per second, by the number of users:",
    table(["", ...sizes.map((size) => count(Number(size)))], rows),
    "![calls per second by users](performance/growth.svg)",
  ]
}

const title = (name: string) => contenders[name as ContenderName].title
const kind = (name: string) => contenders[name as ContenderName].kind
