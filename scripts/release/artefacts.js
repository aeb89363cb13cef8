// artefacts.js FOLDER [--final] [--no-image]: makes what a release publishes, and signs it: npm packages with provenance
// and bill of materials, the chart, and the bill of materials of the image. With --final the key is that of
// AUTHWIRE_RELEASE_KEY, otherwise one that is lost afterwards.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { packChart } from "./chart.js"
import { packAll, publishedPackages, root } from "./packages.js"
import { provenanceOf } from "./provenance.js"
import { sbomOfImage, sbomOfPackage } from "./sbom.js"
import { publicPem, releaseKey, signFile } from "./signatures.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { final: { type: "boolean" }, "no-image": { type: "boolean" } },
})
const [path = "build/release"] = positionals
const folder = resolve(path)
const key = releaseKey(process.env, values.final)
rmSync(folder, { recursive: true, force: true })
for (const part of ["npm", "chart", "image"]) mkdirSync(join(folder, part), { recursive: true })
const [{ manifest: first }] = publishedPackages()

await packages(join(folder, "npm"))
await packChart(join(folder, "chart"), first.version)
say("chart, pushed and pulled by Helm")
if (!values["no-image"]) await image(join(folder, "image", `authwire-${first.version}.cdx.json`))
for (const file of globSync("*/*", { cwd: folder })) signFile(join(folder, file), key)
writeFileSync(join(folder, "cosign.pub"), publicPem(key))
say(values.final ? "signed" : "signed with a key of this rehearsal")

/** Packs the packages, and writes the provenance and the bill of materials of each beside it. */
async function packages(into) {
  const startedOn = new Date().toISOString()
  const tarballs = packAll(into)
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim()
  const lock = readFileSync(join(root, "package-lock.json"))
  const builder = process.env.AUTHWIRE_RELEASE_BUILDER ?? "https://github.com/authwire/authwire/by-hand"
  const integrities = new Map([...tarballs].map(([name, file]) => [name, integrityOf(file)]))
  for (const [name, file] of tarballs) {
    const tarball = readFileSync(file)
    const { version } = first
    const provenance = await provenanceOf({ name, version, tarball, commit, lock, builder, startedOn }, key)
    writeFileSync(file.replace(/tgz$/, "provenance.sigstore.json"), provenance)
    const sbom = sbomOfPackage(root, name, integrities)
    writeFileSync(file.replace(/tgz$/, "cdx.json"), JSON.stringify(sbom, null, 2))
    say(`${name}: packed from ${commit.slice(0, 12)}, ${sbom.components.length} components`)
  }
}

async function image(file) {
  // It needs packages that only `make deploy-install` installs.
  const { buildImage } = await import("../deploy/build-image.js")
  const work = mkdtempSync(join(tmpdir(), "authwire-image-"))
  try {
    const { root: files, workdir } = buildImage({
      dockerfile: join(root, "deploy/Dockerfile"),
      context: root,
      folder: work,
    })
    const sbom = sbomOfImage(join(files, workdir))
    writeFileSync(file, JSON.stringify(sbom, null, 2))
    say(`image: ${sbom.components.length} components`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function integrityOf(file) {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`
}

function say(line) {
  console.log(`release: ${line}`)
}
