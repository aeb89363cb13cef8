import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { hasPrinted, outputOf } from "../processes/output.ts"

// Loaded by jest and, for `missingLanguages`, by Node directly.

const root = fileURLToPath(new URL("../../..", import.meta.url))
const buildFolder = `${root}/build/languages`

/** A language with an example in examples/. The program has the same commands and output in all languages. */
export interface Language {
  readonly name: string
  /** Its folder below examples/, and the language name of its fenced blocks in docs/. */
  readonly folder: string
  /** The programs on the PATH that building and running require, and what to install if they are missing. */
  readonly tools: readonly string[]
  readonly remedy: string
  /** The command that builds it, in its folder. It reuses earlier builds. */
  readonly build: readonly string[]
  /** The command that runs it, in its folder. */
  readonly command: readonly string[]
  /** Its exit code after SIGTERM: 0, or 143 for a JVM, regardless of its shut-down hooks. */
  readonly exitCode: number
}

export const languages: readonly Language[] = [
  {
    name: "Go",
    folder: "go",
    tools: ["go"],
    remedy: "install Go 1.26+",
    build: ["go", "build", "-o", `${buildFolder}/go/example`, "."],
    command: [`${buildFolder}/go/example`],
    exitCode: 0,
  },
  {
    name: "Python",
    folder: "python",
    tools: ["python3"],
    remedy: "install Python 3.10+ with venv",
    build: [`${root}/scripts/languages/venv`, `${buildFolder}/python`, "requirements.txt", `${root}/gen/python`],
    command: [`${buildFolder}/python/bin/python`, "-m", "example"],
    exitCode: 0,
  },
  {
    name: "Java",
    folder: "java",
    tools: ["javac", "mvn"],
    remedy: "install a JDK 17+ and Maven 3.8+",
    build: ["mvn", "--batch-mode", "--quiet", "package"],
    command: ["java", "-jar", "target/example.jar"],
    exitCode: 143,
  },
  {
    name: "Rust",
    folder: "rust",
    tools: ["cargo"],
    remedy: "install Rust 1.88+",
    build: [
      "cargo",
      "build",
      "--quiet",
      "--locked",
      "--config=profile.dev.debug=false",
      `--target-dir=${buildFolder}/rust`,
    ],
    command: [`${buildFolder}/rust/debug/example`],
    exitCode: 0,
  },
]

/** Lists those of the named languages that a run leaves out because their toolchain is missing, one line each. */
export function missingLanguages(hasTool: (name: string) => boolean, names: readonly string[]): string[] {
  return languages
    .filter(({ name, tools }) => names.includes(name) && !tools.every(hasTool))
    .map(({ name, remedy }) => `left out: the example in ${name} (${remedy})`)
}

/** Builds an example. Rejects with the compiler's output if the build fails. */
export async function buildExample({ build, folder }: Language): Promise<void> {
  mkdirSync(buildFolder, { recursive: true })
  const [program, ...args] = build
  await promisify(execFile)(program as string, args, { cwd: `${root}/examples/${folder}` })
}

/** How to reach Authwire: its URL, an API key that it accepts, and the trusted authorities. */
export interface Reach {
  url: string
  apiKey: string
  /** A file of authorities that sign its certificate. Default: those that the language trusts. */
  authorities?: string
}

/** Runs a command of an example until it exits. */
export async function runExample(
  language: Language,
  args: readonly string[],
  authwire: Reach,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = start(language, args, authwire)
  const output = outputOf(child)
  const [code] = (await once(child, "close")) as [number | null]
  return { code, stdout: output.stdout, stderr: output.stderr }
}

export interface ServingExample {
  /** The URL at which it serves, with the path `/me`. */
  readonly meUrl: string
  /** All output so far, standard output and standard error. */
  output(): string
  /** Sends SIGTERM and resolves to the exit code. */
  stop(): Promise<number | null>
}

/** Starts the HTTP server of an example. Rejects with its output if it exits before it listens. */
export async function serveExample(language: Language, authwire: Reach): Promise<ServingExample> {
  const child = start(language, ["serve", "--listen", "127.0.0.1:0"], authwire)
  const output = outputOf(child)
  const closed = once(child, "close") as Promise<[number | null]>
  if (!(await hasPrinted(child, output, /^listening on \S+\n/m)))
    throw new Error(`the example did not start:\n${output.both}`)
  return {
    meUrl: `${/^listening on (\S+)$/m.exec(output.both)?.[1]}/me`,
    output: () => output.both,
    async stop() {
      child.kill("SIGTERM")
      const [code] = await closed
      return code
    },
  }
}

function start({ command, folder }: Language, args: readonly string[], authwire: Reach): ChildProcess {
  const [program, ...first] = command
  return spawn(program as string, [...first, ...args], {
    cwd: `${root}/examples/${folder}`,
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: "1",
      AUTHWIRE_URL: authwire.url,
      AUTHWIRE_API_KEY: authwire.apiKey,
      ...(authwire.authorities !== undefined && { AUTHWIRE_TLS_CA: authwire.authorities }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
}
