// A project that installs what a release would publish.
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const tools = fileURLToPath(new URL("node_modules", import.meta.url))

/** The commands with which each package manager installs a project from its package.json alone. */
export const managers = {
  npm: ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
  pnpm: [join(tools, ".bin/pnpm"), "install", "--reporter=silent", "--no-frozen-lockfile"],
  yarn: [join(tools, ".bin/yarn"), "install", "--silent", "--non-interactive", "--no-lockfile", "--ignore-engines"],
}

/** The folders of the `node` programs by major version. */
export const nodes = { 22: join(tools, "node-22/bin"), 24: dirname(process.execPath) }

/** Creates a project with these dependencies, and installs them. `tarballs` replace the packages of the same names. */
export function install({ folder, manager, node, tarballs, dependencies }) {
  mkdirSync(folder, { recursive: true })
  const files = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]))
  const own = Object.keys(files).filter((name) => dependencies[name] === "released")
  const manifest = {
    name: "fresh",
    version: "1.0.0",
    private: true,
    // The packages depend on each other, and no registry has them yet.
    dependencies: { ...dependencies, ...Object.fromEntries(own.map((name) => [name, files[name]])) },
    overrides: files,
    resolutions: files,
  }
  // pnpm's form of npm's `overrides` and yarn's `resolutions`. pnpm also requires a decision for each package with an
  // install script. That of protobufjs only warns of other versions of itself.
  const settings = { overrides: files, allowBuilds: { protobufjs: false } }
  writeFileSync(join(folder, "pnpm-workspace.yaml"), JSON.stringify(settings))
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2))
  cpSync(fileURLToPath(new URL("smoke", import.meta.url)), folder, { recursive: true })
  const [program, ...args] = managers[manager]
  succeedIn({ folder, node }, program, args)
}

/** Runs a program in a project until it exits. Returns its output and exit code. */
export function runIn({ folder, node }, program, args, env = {}) {
  return spawnSync(program, args, { cwd: folder, env: environment({ folder, node }, env), encoding: "utf8" })
}

/** Does the same. Throws an error with the output unless the exit code is 0. Returns the standard output. */
export function succeedIn(project, program, args, env) {
  const { status, stdout, stderr, error } = runIn(project, program, args, env)
  if (status === 0) return stdout.trim()
  throw new Error(`${[program, ...args].join(" ")} in ${project.folder}:\n${stdout}${stderr}`, { cause: error })
}

/** Starts `authwire serve --dev` of a project. Resolves to its URL when it listens. */
export async function serveIn({ folder, node }) {
  const args = ["serve", "--dev", "--grpc-addr=127.0.0.1:0", "--http-addr=off", "--log-level=warn"]
  const child = spawn("node_modules/.bin/authwire", args, {
    cwd: folder,
    env: environment({ folder, node }, {}),
    stdio: ["ignore", "pipe", "inherit"],
  })
  const closed = once(child, "close")
  const listening = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const address = /^authwire: grpc listener at (?:http:\/\/)?(\S+)$/.exec(line)?.[1]
      if (address !== undefined) resolve(`http://${address}`)
    })
  })
  const url = await Promise.race([listening, closed])
  if (typeof url !== "string") throw new Error(`authwire serve --dev in ${folder} did not start`)
  const stop = async () => {
    child.kill("SIGTERM")
    const [code] = await closed
    if (code !== 0) throw new Error(`authwire serve --dev in ${folder} ended with ${code}`)
  }
  return { url, stop }
}

/** Returns an environment without this repository's programs on the path and without npm's script settings. */
function environment({ folder, node }, more) {
  if (!existsSync(join(nodes[node], "node")))
    throw new Error(`${nodes[node]} has no Node ${node}: make release-install`)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS$|NODE_ENV$|INIT_CWD$)/i.test(name),
  )
  const path = (process.env.PATH ?? "").split(":").filter((one) => !one.includes("node_modules"))
  return {
    ...Object.fromEntries(inherited),
    PATH: [nodes[node], ...path].join(":"),
    CI: "1",
    // pnpm links from a store. A separate one avoids sharing it with other projects.
    npm_config_store_dir: join(folder, "../store"),
    ...more,
  }
}
