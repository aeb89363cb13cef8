import { type ChildProcess, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { outputOf } from "./output.ts"

export interface ServerProcess {
  /** URL of the gRPC listener: `http://127.0.0.1:…`, or `https://` with `--tls-cert`. */
  readonly grpcUrl: string
  /** URL of the HTTP listener. */
  readonly httpUrl: string
  /** URL of its page of metrics, with `--metrics-addr`. */
  readonly metricsUrl: string
  readonly pid: number
  /** The first of its keys. Undefined if it was started without one. */
  readonly apiKey: string | undefined
  /** All output so far, standard output and standard error. */
  output(): string
  /** The log so far: its standard error only. */
  log(): string
  /**
   * Sends a signal (default SIGTERM) and resolves to the exit code after the exit; null if the signal killed the
   * process.
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** The secret of servers in tests, unless their environment overrides it. */
export const testSecret = "a-secret-of-the-tests-and-of-nobody-else"

const repository = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")
/** The file of the command `authwire`. */
const ownCommand = `${repository}/server/bin/authwire.js`
/** The same command in few files, see bundle.js. */
const bundledCommand = `${repository}/build/command/bin/authwire.js`

/**
 * Starts `authwire serve` as a process on free loopback ports, with pending migrations applied. It requires no API keys
 * (`--dev`) unless `keys` is set. Rejects with the output if the process ends before both listeners are open.
 */
export async function startServer(options: {
  databaseUrl: string
  /** Additional arguments. They override the defaults. */
  args?: string[]
  env?: Record<string, string>
  /**
   * Starts the server as in production, where every call requires a key. The server has these keys, one with all scopes
   * (true), or none (false). Their tenants are created.
   */
  keys?: boolean | readonly StaticKey[]
  /** A program with arguments that starts the server. Default: none. */
  prefix?: readonly string[]
  /** The file of the command `authwire`. Default: the bundle of the one of this repository. */
  command?: string
  /** Its working folder. Default: that of the tests. */
  folder?: string
}): Promise<ServerProcess> {
  const { keys } = options
  const given = keys === true ? [staticKey(["all"])] : keys || []
  const mode = keys === undefined ? ["--dev", "--console=off", "--log-format=json"] : ["--migrate"]
  const child = authwire(
    ["serve", ...mode, "--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0", ...(options.args ?? [])],
    {
      AUTHWIRE_DATABASE_URL: options.databaseUrl,
      AUTH_SECRET: testSecret,
      // As in production, and not in the database, as with `--dev`.
      AUTHWIRE_AUDIT_STORE: "log",
      ...(given.length > 0 && { AUTHWIRE_API_KEYS: JSON.stringify(given.map(({ entry }) => entry)) }),
      ...options.env,
    },
    { command: bundledCommand, ...options },
  )
  const tls = options.args?.some((argument) => argument.startsWith("--tls-cert")) ?? false
  const output = outputOf(child)
  const transports: Record<string, string> = {}
  const closed = once(child, "close") as Promise<[number | null]>
  const listening = new Promise<void>((resolve) => {
    const look = () => {
      if (transports.grpc !== undefined && transports.http !== undefined) return
      for (const [, transport, address] of output.both.matchAll(
        /^authwire: (grpc|http) listener at (?:https?:\/\/)?(\S+)$/gm,
      )) {
        if (transport !== undefined) transports[transport] = `${tls ? "https" : "http"}://${address}`
      }
      if (transports.grpc !== undefined && transports.http !== undefined) resolve()
    }
    child.stdout?.on("data", look)
    child.stderr?.on("data", look)
  })
  await Promise.race([listening, closed])
  if (transports.grpc === undefined || transports.http === undefined)
    throw new Error(`authwire serve did not start:\n${output.both}`)
  for (const tenant of new Set(given.flatMap(({ entry }) => entry.tenant ?? [])))
    await run(["tenants", "create", tenant], { AUTHWIRE_DATABASE_URL: options.databaseUrl })
  return {
    grpcUrl: transports.grpc,
    httpUrl: transports.http,
    get metricsUrl() {
      return /^authwire: metrics at (\S+)$/m.exec(output.both)?.[1] as string
    },
    pid: child.pid as number,
    apiKey: given[0]?.text,
    output: () => output.both,
    log: () => output.stderr,
    async stop(signal = "SIGTERM") {
      child.kill(signal)
      const [code] = await closed
      return code
    },
  }
}

/** Creates a key, and its entry in AUTHWIRE_API_KEYS. */
export function staticKey(
  scopes: readonly string[],
  more: { tenant?: string; expires?: string; name?: string; certificateName?: string } = {},
) {
  const id = randomBytes(8).toString("hex")
  const secret = randomBytes(32).toString("base64url")
  const secretSha256 = createHash("sha256").update(secret).digest("hex")
  return { id, text: `awk_${id}_${secret}`, entry: { id, name: "of the tests", scopes, secretSha256, ...more } }
}

export type StaticKey = ReturnType<typeof staticKey>

/** What a command of `authwire` has printed when it ends, and its exit code. */
interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

/**
 * Runs the command `authwire` until it ends, in the given folder or in that of the tests. It runs in the process of
 * command-host.ts, or in one of its own if that is of consequence: for its folder, for variables of Node, and for
 * commands that serve.
 */
export async function run(args: string[], env: Record<string, string> = {}, folder?: string): Promise<Outcome> {
  const serves = ["serve", "console", "events"].includes(args[0] ?? "")
  const isOwn = serves || resolve(folder ?? "") !== repository || Object.keys(env).some((name) => /^NODE_/.test(name))
  if (isOwn) return runProcess(args, env, folder)
  const socketPath = process.env.AUTHWIRE_TEST_COMMANDS as string
  const asked = request({ socketPath, method: "POST", agent: false })
  asked.end(JSON.stringify({ args, environment: environmentOf(env) }))
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  return JSON.parse(await text(response)) as Outcome
}

/** Does the same as `run`, in a process of its own. */
export async function runProcess(args: string[], env: Record<string, string> = {}, folder?: string): Promise<Outcome> {
  const child = authwire(args, env, { folder })
  const output = outputOf(child)
  const [code] = (await once(child, "close")) as [number | null]
  return { code, stdout: output.stdout, stderr: output.stderr }
}

function environmentOf(env: Record<string, string>) {
  const { AUTHWIRE_DATABASE_URL: _, ...inherited } = process.env
  return { ...inherited, NODE_OPTIONS: "", ...env }
}

function authwire(
  args: string[],
  env: Record<string, string>,
  {
    prefix = [],
    folder,
    command = ownCommand,
  }: { prefix?: readonly string[] | undefined; folder?: string | undefined; command?: string | undefined },
): ChildProcess {
  const [program = process.execPath, ...first] = [...prefix, process.execPath, command]
  return spawn(program, [...first, ...args], {
    ...(folder !== undefined && { cwd: folder }),
    env: environmentOf(env),
    stdio: ["ignore", "pipe", "pipe"],
  })
}
