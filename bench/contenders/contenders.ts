import type { SchemaName } from "../data/schemas.ts"
import type { ServerName } from "../servers/processes.ts"
import type { Contender, Endpoints } from "./contender.ts"

interface Entry {
  /** The name in the tables. */
  readonly title: string
  /** Whether it is a lower bound for the cost of such a call. It then has only getSessionAndUser. */
  readonly isFloor: boolean
  /** The tables that it reads on MySQL, if any. */
  readonly schema: SchemaName | null
  /** The server that it calls, if any. */
  readonly server: ServerName | null
  /** Loads and opens the contender. Its modules are loaded only where it is measured. */
  open(endpoints: Endpoints): Promise<Contender>
}

const authwire = { isFloor: false, schema: "authwire", server: "authwire" } as const
const inProcess = { isFloor: false, server: null } as const
const echo = { isFloor: true, schema: null, server: "echo" } as const

/** All contenders, in the order of the tables. */
export const contenders = {
  "authwire-pipeline": {
    ...{ title: "Authwire, pipeline", ...authwire },
    open: async (endpoints) => (await import("./authwire.ts")).authwirePipeline(endpoints),
  },
  "authwire-unary": {
    ...{ title: "Authwire, unary gRPC", ...authwire },
    open: async (endpoints) => (await import("./authwire.ts")).authwireUnary(endpoints),
  },
  "authwire-connect": {
    ...{ title: "Authwire, Connect over fetch", ...authwire },
    open: async (endpoints) => (await import("./authwire.ts")).authwireConnect(endpoints),
  },
  drizzle: {
    ...{ title: "@auth/drizzle-adapter", schema: "plain", ...inProcess },
    open: async (endpoints) => (await import("./drizzle.ts")).drizzleAdapter(endpoints),
  },
  typeorm: {
    ...{ title: "@auth/typeorm-adapter", schema: "typeorm", ...inProcess },
    open: async (endpoints) => (await import("./typeorm.ts")).typeormAdapter(endpoints),
  },
  prisma: {
    ...{ title: "@auth/prisma-adapter", schema: "prisma", ...inProcess },
    open: async (endpoints) => (await import("./prisma.ts")).prismaAdapter(endpoints),
  },
  rest: {
    ...{ title: "hand-written Express and fetch", isFloor: false, schema: "plain", server: "rest" },
    open: async (endpoints) => (await import("./rest.ts")).restAdapter(endpoints),
  },
  "echo-unary": {
    ...{ title: "grpc-js unary, echo", ...echo },
    open: async (endpoints) => (await import("./echo.ts")).echoUnary(endpoints),
  },
  "echo-stream": {
    ...{ title: "grpc-js stream, echo", ...echo },
    open: async (endpoints) => (await import("./echo.ts")).echoStream(endpoints),
  },
  statement: {
    ...{ title: "mysql2 prepared statement", isFloor: true, schema: "authwire", server: null },
    open: async (endpoints) => (await import("./statement.ts")).preparedStatement(endpoints),
  },
} satisfies Record<string, Entry>

export type ContenderName = keyof typeof contenders

/** The names of all contenders. */
export const contenderNames = Object.keys(contenders) as ContenderName[]
