// Tests what a release would publish. Packs it, lints it, and installs it in new projects of every kind. Their programs
// call a service that was installed in the same way. Needs a build, and `npm install` in this folder.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { checkGo } from "./go.js"
import { packAll, publishedPackages, root } from "./packages.js"
import { install, managers, nodes, runIn, serveIn, succeedIn } from "./project.js"
import { checkPython } from "./python.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-release-"))
try {
  const tarballs = packAll(join(folder, "packed"))
  for (const { manifest } of publishedPackages()) lint(manifest, tarballs.get(manifest.name))
  await tryProjects(tarballs)
  checkGo(join(folder, "go"))
  checkPython(join(folder, "python"))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function lint(manifest, tarball) {
  // Its suggestions are ignored: it asks for the URL of a repository, which does not exist yet.
  execFileSync(tool("publint"), ["run", tarball, "--strict", "--level=warning"], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  // Every supported Node version can require() ES modules, so "CommonJS resolves to a module" is correct.
  if (hasTypes(manifest)) {
    // Data, and programs, which nobody imports.
    const untyped = Object.keys(manifest.exports).filter((name) => name.endsWith(".binpb") || name.startsWith("./bin/"))
    const args = [tarball, "--profile=node16", "--ignore-rules=cjs-resolves-to-esm", "--format=ascii"]
    if (untyped.length > 0) args.push("--exclude-entrypoints", ...untyped)
    execFileSync(tool("attw"), args, { stdio: ["ignore", "pipe", "inherit"] })
  }
  say(`${manifest.name}: publint and attw find nothing`)
}

function hasTypes({ exports }) {
  return Object.values(exports).some((entry) => typeof entry === "object" && "types" in entry)
}

async function tryProjects(tarballs) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const { devDependencies: client } = JSON.parse(readFileSync(join(root, "client/package.json"), "utf8"))
  const service = { folder: join(folder, "service"), node: 24 }
  install({ ...service, manager: "npm", tarballs, dependencies: { authwire: "released" } })
  const { url, stop } = await serveIn(service)
  say("authwire serve --dev: serves, of the package authwire")
  try {
    for (const node of Object.keys(nodes)) {
      for (const manager of Object.keys(managers)) {
        const project = { folder: join(folder, `${manager}-${node}`), node }
        const dependencies = {
          "@authwire/client": "released",
          "@authwire/token": "released",
          "@authwire/proto": "released",
          "@auth/core": client["@auth/core"],
          "@types/node": devDependencies["@types/node"],
          typescript: devDependencies.typescript,
        }
        install({ ...project, manager, tarballs, dependencies })
        for (const program of ["smoke.mjs", "smoke.cjs"]) {
          say(`${manager}: ${succeedIn(project, "node", [program], { AUTHWIRE_URL: url })}`)
        }
        for (const resolution of ["nodenext", "bundler"]) {
          checkTypes(project, `tsconfig.${resolution}.json`)
          say(`${manager}: types, ${resolution}, on Node ${node}`)
        }
      }
    }
  } finally {
    await stop()
  }
}

/**
 * Checks the types of a project without skipLibCheck, so that the declarations of dependencies are checked too. Those
 * of @auth/core 0.41 name types that they do not export, and need packages that are its optional peers. Errors in them
 * are ignored.
 */
function checkTypes(project, config) {
  const { stdout, status } = runIn(project, "node_modules/.bin/tsc", ["--pretty", "false", "--project", config])
  const errors = stdout.split("\n").filter((line) => /error TS\d+:/.test(line))
  const others = errors.filter((line) => !/(^|\/)node_modules\/@auth\/core\//.test(line))
  if (others.length > 0 || (status !== 0 && errors.length === 0)) throw new Error(`tsc: ${others.join("\n") || stdout}`)
}

function tool(name) {
  return fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url))
}

function say(line) {
  console.log(`release: ${line}`)
}
