import { type Attributes, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import { oncePer } from "../../../util/once-per.js"
import { StatementError } from "../query/statement-error.js"
import type { Connection, SqlEngine } from "./engine.js"
import type { Observation, StatementName } from "./observer.js"

/** Returns the name of a statement. It is parsed from the text, because only the text passes through all layers. */
export const nameOf = oncePer((statement: string): StatementName => {
  const operation = /^\s*(\w+)/.exec(statement)?.[1]?.toUpperCase() ?? ""
  const found = statement.matchAll(/\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:["`]\w+["`]\.)?["`](\w+)["`]/gi)
  const tables = [...new Set([...found].map(([, table = ""]) => table))]
  return { operation, table: tables[0], summary: [operation, ...tables].join(" ") }
})

/** The names of engines in OpenTelemetry's conventions, where they differ from TypeORM's. */
const systems: Readonly<Record<string, string>> = { postgres: "postgresql" }

/**
 * Returns a connection whose statements are observed and have a child span in each of the given spans. A span contains
 * the text of its statement but no values, because every value is a parameter.
 */
export function observedConnection(
  connection: Connection,
  { engine }: Pick<SqlEngine, "engine">,
  { observer, tracer }: Observation,
  spans: () => readonly Span[],
): Connection {
  const begin = (parent: Span, { operation, table, summary }: StatementName, text: string): Span | undefined => {
    const attributes: Attributes = {
      "db.system.name": systems[engine] ?? engine,
      "db.operation.name": operation,
      "db.query.summary": summary,
      "db.query.text": text,
      ...(table !== undefined && { "db.collection.name": table }),
    }
    return tracer?.startSpan(summary, { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, parent))
  }
  return {
    reused: connection.reused,
    release: connection.release,
    discard: connection.discard,
    async run(statement, cells) {
      const name = nameOf(statement)
      const begun = performance.now()
      const open = spans().map((span) => begin(span, name, statement))
      let failure: StatementError | undefined
      try {
        return await connection.run(statement, cells)
      } catch (error) {
        failure = error instanceof StatementError ? error : new StatementError("fault", "not of the database")
        throw error
      } finally {
        observer?.ran(name, performance.now() - begun, failure?.failure)
        for (const span of open) end(span, failure)
      }
    },
  }
}

function end(span: Span | undefined, failure: StatementError | undefined): void {
  if (failure !== undefined) {
    span?.setAttribute("error.type", failure.failure)
    if (failure.code !== undefined) span?.setAttribute("db.response.status_code", failure.code)
    span?.setStatus({ code: SpanStatusCode.ERROR })
  }
  span?.end()
}
