import type { SchemaName } from "../data/loaded-database.ts"
import type { Contender, Places } from "./contender.ts"

interface Entry {
  /** How tables and plots call it. */
  readonly title: string
  readonly kind: "authwire" | "in process" | "by hand" | "floor"
  /** The tables it reads, if any. */
  readonly schema: SchemaName | null
  /** The server that it talks to, if any. */
  readonly server: "authwire" | "rest" | "echo" | null
  /** Loads it. Each is loaded only where it is measured. */
  open(places: Places): Promise<Contender>
}

/** Everything that is measured, in the order of the tables. */
export const contenders = {
  "authwire-pipeline": {
    title: "Authwire, pipeline",
    kind: "authwire",
    schema: "authwire",
    server: "authwire",
    open: async (places) => (await import("./authwire.ts")).authwirePipeline(places),
  },
  "authwire-unary": {
    title: "Authwire, unary gRPC",
    kind: "authwire",
    schema: "authwire",
    server: "authwire",
    open: async (places) => (await import("./authwire.ts")).authwireUnary(places),
  },
  "authwire-connect": {
    title: "Authwire, Connect over fetch",
    kind: "authwire",
    schema: "authwire",
    server: "authwire",
    open: async (places) => (await import("./authwire.ts")).authwireConnect(places),
  },
  drizzle: {
    title: "@auth/drizzle-adapter",
    kind: "in process",
    schema: "plain",
    server: null,
    open: async (places) => (await import("./drizzle.ts")).drizzleAdapter(places),
  },
  typeorm: {
    title: "@auth/typeorm-adapter",
    kind: "in process",
    schema: "typeorm",
    server: null,
    open: async (places) => (await import("./typeorm.ts")).typeormAdapter(places),
  },
  prisma: {
    title: "@auth/prisma-adapter",
    kind: "in process",
    schema: "prisma",
    server: null,
    open: async (places) => (await import("./prisma.ts")).prismaAdapter(places),
  },
  rest: {
    title: "Express and fetch, by hand",
    kind: "by hand",
    schema: "plain",
    server: "rest",
    open: async (places) => (await import("./rest.ts")).restAdapter(places),
  },
  "echo-unary": {
    title: "grpc-js unary, echo",
    kind: "floor",
    schema: null,
    server: "echo",
    open: async (places) => (await import("./echo.ts")).echoUnary(places),
  },
  "echo-stream": {
    title: "grpc-js stream, echo",
    kind: "floor",
    schema: null,
    server: "echo",
    open: async (places) => (await import("./echo.ts")).echoStream(places),
  },
  statement: {
    title: "mysql2 prepared statement",
    kind: "floor",
    schema: "authwire",
    server: null,
    open: async (places) => (await import("./statement.ts")).preparedStatement(places),
  },
} satisfies Record<string, Entry>

export type ContenderName = keyof typeof contenders

export const contenderNames = Object.keys(contenders) as ContenderName[]
