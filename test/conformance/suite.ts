// Runs the conformance suite of the Connect project against a program of this folder.

import { execFile, spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { hasTool } from "@authwire/test-support/machine/tools.js"

const run = promisify(execFile)
const folder = fileURLToPath(new URL(".", import.meta.url))

/** See messages.ts. */
const descriptorsFile = `${folder}../../build/conformance/descriptors.binpb`

/** Whether the suite can run: its program, and Go for the schema in its module. */
export const hasSuite = hasTool("connectconformance") && hasTool("go")

/** What the suite tests: a listener or a transport, by the name of its configuration (`NAME.yaml`). */
export interface Subject {
  readonly name: string
  readonly mode: "server" | "client"
  /** The arguments of Node that start the program under test. */
  readonly program: readonly string[]
}

export const subjects: readonly Subject[] = [
  { name: "grpc-listener", mode: "server", program: ["server.ts", "grpc"] },
  { name: "http-listener", mode: "server", program: ["server.ts", "http"] },
  { name: "grpc-client", mode: "client", program: ["client.ts", "grpc"] },
  { name: "fetch-client", mode: "client", program: ["client.ts", "fetch"] },
]

/** The cases of one protocol, one version of HTTP, with or without TLS. */
export interface Count {
  passed: number
  knownFailing: number
}

export interface Report {
  /** By their names: `PROTOCOL_CONNECT HTTP/1 TLS`. */
  readonly counts: ReadonlyMap<string, Count>
  /** The cases that failed, and those that are known to fail and passed, as the suite reports them. */
  readonly unexplained: readonly string[]
  readonly exitCode: number | null
  readonly output: string
}

/** Writes the schema of the installed suite for the programs under test. */
export async function writeDescriptors(): Promise<void> {
  const [, version] = (await run("connectconformance", ["--version"])).stdout.trim().split(" ")
  const { stdout } = await run("go", ["mod", "download", "-json", `connectrpc.com/conformance@${version}`])
  mkdirSync(dirname(descriptorsFile), { recursive: true })
  await run("buf", ["build", `${JSON.parse(stdout).Dir}/proto`, "--output", descriptorsFile])
}

/** Runs all cases that the configuration of a subject asks for. The known failing ones must fail. */
export async function runSuite({ name, mode, program: [file, ...rest] }: Subject): Promise<Report> {
  const lists = [`--conf=${folder}${name}.yaml`, `--known-failing=@${folder}${name}-known-failing.txt`]
  const command = [process.execPath, `${folder}${file}`, ...rest]
  const child = spawn("connectconformance", ["--mode", mode, "-v", ...lists, "--", ...command])
  const exit = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("exit", resolve))
  const outputs = await Promise.all([text(child.stdout), text(child.stderr)])
  const output = outputs.join("\n")
  const counts = countsOf(output)
  return { counts, unexplained: output.match(/^FAILED: .*$/gm) ?? [], exitCode: await exit, output }
}

/** The suite tells how many cases it runs for each kind of server, and names those that fail as expected. */
function countsOf(output: string): Map<string, Count> {
  const counts = new Map<string, Count>()
  const count = (protocol: string, version: string, isSecure: boolean, passed: number, knownFailing: number) => {
    const key = `${protocol} HTTP/${version}${isSecure ? " TLS" : ""}`
    const sum = counts.get(key) ?? { passed: 0, knownFailing: 0 }
    counts.set(key, { passed: sum.passed + passed, knownFailing: sum.knownFailing + knownFailing })
  }
  const servers = /^Running (\d+) tests with .* \{HTTP_VERSION_(\d), (PROTOCOL_\w+), TLS:(true|false)/gm
  for (const [, cases, version = "", protocol = "", tls] of output.matchAll(servers))
    count(protocol, version, tls === "true", Number(cases), 0)
  for (const [, name = ""] of output.matchAll(
    /^(?:INFO|FAILED): (.*?)(?: failed \(as expected\)| was expected to fail but did not)?:?$/gm,
  )) {
    const [suite = ""] = name.split(" ", 1)
    // Cases for one protocol only have it in the name of their suite.
    const protocol = /Protocol:(\w+)/.exec(name)?.[1] ?? `PROTOCOL_${suite.replace("-", "_").toUpperCase()}`
    const version = /HTTPVersion:(\d)/.exec(name)?.[1] ?? "2"
    count(protocol, version, name.includes("/TLS:true"), -1, name && output.includes(`INFO: ${name} failed`) ? 1 : 0)
  }
  return counts
}

/** Returns the counts of a report as lines of text. */
export function printed({ name }: Subject, { counts }: Report): string {
  const lines = [...counts].map(([key, { passed, knownFailing }]) => {
    const known = knownFailing === 0 ? "" : `, ${knownFailing} fail as known`
    return `  ${key.replace("PROTOCOL_", "").padEnd(20)} ${passed} pass${known}`
  })
  return `${name}\n${lines.join("\n")}\n`
}
