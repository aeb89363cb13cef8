// Builds deploy/Dockerfile into a temporary folder and runs it as a container would, on the empty database of
// AUTHWIRE_DATABASE_URL: it migrates, serves, checks its health and stops. Prints a line for each step, and exits with
// 1 at the first failure.
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmodSync, globSync, lstatSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { buildImage } from "./build-image.js"
import { runInImage, startInImage } from "./run-image.js"

const context = fileURLToPath(new URL("../..", import.meta.url))
const databaseUrl = process.env.AUTHWIRE_DATABASE_URL
assert(databaseUrl, "AUTHWIRE_DATABASE_URL: is required, the URL of an empty database")

const folder = mkdtempSync(join(tmpdir(), "authwire-image-"))
// The user of the image is not the user who builds it.
chmodSync(folder, 0o755)
try {
  await tryImage()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function tryImage() {
  const image = buildImage({ dockerfile: join(context, "deploy/Dockerfile"), context, folder })
  const files = globSync("**/*", { cwd: image.root }).map((file) => join(image.root, file))
  const links = files.filter((file) => lstatSync(file).isSymbolicLink())
  for (const link of links) assert(realpathSync(link).startsWith(image.root), `${link} leads out of the image`)
  say(`built: ${files.length} files and folders, ${megabytes(files)} MB without Node`)

  const installed = Object.entries(packagesOf(join(image.root, image.workdir, "node_modules/.package-lock.json")))
  const locked = packagesOf(join(context, "package-lock.json"))
  for (const [path, { version, integrity }] of installed) {
    assert.deepEqual(
      { version, integrity },
      { version: locked[path]?.version, integrity: locked[path]?.integrity },
      path,
    )
  }
  say(`${installed.length} packages, as package-lock.json names them`)

  const developers = ["typescript", "jest", "@biomejs", "@bufbuild/buf", "@auth/core"].map((name) =>
    join(image.root, image.workdir, "node_modules", name),
  )
  for (const name of developers) assert(!files.includes(name), `${name} is of no use in production`)
  say("nothing of it is for development only")

  const probe = "process.stdout.write(process.getuid() + ' '); fs.writeFileSync('written', '')"
  const written = await runInImage(image, ["node", "-e", probe])
  assert.match(written.output, /^[1-9]\d* [\s\S]*EROFS/, `root, or it can write: ${written.output}`)
  say(`runs as user ${written.output.split(" ", 1)[0]}, who can write nothing`)

  const env = variables()
  const migrated = await runInImage(image, [...image.entrypoint, "migrate", "up"], env)
  assert.equal(migrated.code, 0, migrated.output)
  assert.match(migrated.output, /^applied /, "the database was not empty")
  say(`migrate up: ${migrated.output.trim().split("\n").length} migrations`)

  const dead = await runInImage(image, image.healthcheck, { ...env, AUTHWIRE_HTTP_ADDR: "127.0.0.1:1" })
  assert.equal(dead.code, 1, "the health check is well without a service")
  say("without a service the health check fails")

  const server = startInImage(image, [...image.entrypoint, ...image.cmd], env)
  const closed = once(server, "close")
  const lines = []
  const listening = new Promise((resolve) => {
    for (const output of [server.stdout, server.stderr]) {
      createInterface({ input: output }).on("line", (line) => {
        lines.push(line)
        const address = /^authwire: http listener at (?:https?:\/\/)?(\S+)$/.exec(line)?.[1]
        if (address !== undefined) resolve(address)
      })
    }
  })
  const address = await Promise.race([listening, closed])
  assert.equal(typeof address, "string", `it does not serve:\n${lines.join("\n")}`)
  say(`serves at ${address}`)
  const health = await runInImage(image, image.healthcheck, { ...env, AUTHWIRE_HTTP_ADDR: address })
  assert.equal(health.code, 0, `not healthy:\n${lines.join("\n")}`)
  say("healthy")

  server.kill("SIGTERM")
  assert.deepEqual(await closed, [0, null], lines.join("\n"))
  say("stopped with 0")
}

/**
 * Returns the environment of the container. It has an unused API key, because without any key the service does not
 * listen on external addresses.
 */
function variables() {
  const key = {
    id: "tryimage00000000",
    name: "try-image",
    scopes: ["all"],
    secretSha256: randomBytes(32).toString("hex"),
  }
  return {
    AUTHWIRE_DATABASE_URL: databaseUrl,
    AUTH_SECRET: randomBytes(33).toString("base64"),
    AUTHWIRE_API_KEYS: JSON.stringify([key]),
    AUTHWIRE_GRPC_ADDR: "127.0.0.1:0",
    AUTHWIRE_HTTP_ADDR: "127.0.0.1:0",
  }
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages
}

function megabytes(files) {
  const bytes = files.filter((file) => !file.endsWith("/node")).reduce((sum, file) => sum + lstatSync(file).size, 0)
  return Math.round(bytes / 1e6)
}

function say(line) {
  console.log(line)
}
