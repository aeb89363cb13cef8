import { type ExecFileException, execFile } from "node:child_process"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { systemCodeOf } from "../errors/start-error.js"
import type { DatabaseServer } from "../store/sql/index.js"
import { orAborted } from "../util/abort.js"
import { peerSignal } from "../util/peer-timeout.js"
import { maxSecretBytes, readSecretFile, secretText } from "../util/secret-text.js"

export interface PasswordOptions {
  databasePasswordFile?: string | undefined
  databasePasswordCommand?: string | undefined
  databaseConnectTimeoutMs: number
}

/** Reads the password of a new connection to a server. Throws InvalidValueError, whose message names the option. */
export type ReadPassword = (server: DatabaseServer) => Promise<string>

/** Returns the function that reads passwords as the options say; undefined if the password is that of the URL. */
export function passwordReader(options: PasswordOptions): ReadPassword | undefined {
  const { databasePasswordFile: file, databasePasswordCommand: command, databaseConnectTimeoutMs: ms } = options
  if (file !== undefined) return shared("--database-password-file", ms, (_, signal) => readSecretFile(file, signal))
  if (command === undefined) return undefined
  return shared("--database-password-command", ms, (server, signal) => outputOf(command, server, signal))
}

/**
 * Limits the time of each read, and shares it among the connections to a server that are made at the same time: a pool
 * makes many of them at once, and a read of a file system that does not answer blocks a thread of Node's thread pool.
 */
function shared(
  option: string,
  ms: number,
  read: (server: DatabaseServer, signal: AbortSignal) => Promise<string>,
): ReadPassword {
  const reads = new Map<string, Promise<string>>()
  const begin = (server: DatabaseServer, key: string): Promise<string> => {
    const signal = peerSignal(ms)
    const reading = read(server, signal)
    const over = () => reads.delete(key)
    reading.then(over, over)
    return orAborted(reading, signal).catch((error) => {
      const problem = error instanceof InvalidValueError ? error.message : systemCodeOf(error)
      throw new InvalidValueError(`${option}: ${signal.aborted ? `no password within ${ms} ms` : problem}`)
    })
  }
  return (server) => {
    const key = JSON.stringify(server)
    const reading = reads.get(key) ?? begin(server, key)
    reads.set(key, reading)
    return reading
  }
}

/** Runs a program. What it writes to standard error may contain secrets, and is dropped. */
async function outputOf(command: string, server: DatabaseServer, signal: AbortSignal): Promise<string> {
  const [program = "", ...parameters] = command.trim().split(/\s+/)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const env = {
    ...process.env,
    AUTHWIRE_DATABASE_HOST: server.host,
    AUTHWIRE_DATABASE_PORT: String(server.port),
    AUTHWIRE_DATABASE_USER: server.username ?? "",
  }
  const limits = { maxBuffer: maxSecretBytes + 2, signal, killSignal: "SIGKILL", encoding: "buffer" } as const
  const child = execFile(program, parameters, { ...limits, env }, (error, output) => {
    if (error === null) resolve(output)
    else reject(new InvalidValueError(failureOf(error)))
  })
  child.stdin?.end()
  return secretText(await promise)
}

/** Describes a failure without the command line, which the message of the error has. */
function failureOf({ code, signal }: ExecFileException): string {
  if (typeof code === "number") return `the command ended with status ${code}`
  if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return `the command printed more than ${maxSecretBytes} bytes`
  return `the command failed (${code ?? signal})`
}
