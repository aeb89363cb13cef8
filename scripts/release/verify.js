// verify.js FOLDER KEY [--no-image]: verifies what artefacts.js made, with a public key in PEM. Exits with 1 if a file is
// missing, or is not what was signed.
import { createHash, createPublicKey } from "node:crypto"
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { verifyArchive } from "./chart.js"
import { publishedPackages } from "./packages.js"
import { verifyProvenance } from "./provenance.js"
import { isSigned } from "./signatures.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "no-image": { type: "boolean" } },
})
const [folder = "build/release", keyFile = join(folder, "cosign.pub")] = positionals
const publicKey = readFileSync(keyFile, "utf8")
const problems = []

const packages = publishedPackages().map(({ manifest: { name, version } }) => {
  return { name, version, base: `npm/${name.replace("@", "").replace("/", "-")}-${version}` }
})
const [{ version }] = packages
const wanted = [
  ...packages.flatMap(({ base }) => [`${base}.tgz`, `${base}.provenance.sigstore.json`, `${base}.cdx.json`]),
  `chart/authwire-${version}.tgz`,
  `chart/authwire-${version}.oci.tar`,
  ...(values["no-image"] ? [] : [`image/authwire-${version}.cdx.json`]),
]
for (const file of globSync("*/*", { cwd: folder })) {
  if (!wanted.includes(file.replace(/\.sig$/, ""))) problems.push(`${file}: does not belong to the release`)
}
for (const file of wanted) {
  attempt(file, () => {
    if (!existsSync(join(folder, `${file}.sig`))) throw new Error("has no signature")
    if (!isSigned(join(folder, file), createPublicKey(publicKey))) throw new Error("is not what was signed")
  })
}
for (const { base, name, version } of packages) {
  const read = (ending) => readFileSync(join(folder, `${base}.${ending}`))
  attempt(`${base}.provenance.sigstore.json`, () => {
    verifyProvenance(read("provenance.sigstore.json"), { name, version, tarball: read("tgz") }, publicKey)
  })
  attempt(`${base}.cdx.json`, () => {
    const { component } = JSON.parse(read("cdx.json")).metadata
    const digest = createHash("sha512").update(read("tgz")).digest("hex")
    if (component.name !== name || component.version !== version) throw new Error(`describes ${component["bom-ref"]}`)
    if (!component.hashes.some(({ content }) => content === digest)) throw new Error("describes another tarball")
  })
}
attempt(`chart/authwire-${version}.oci.tar`, () => verifyArchive(join(folder, `chart/authwire-${version}.oci.tar`)))

for (const problem of problems) console.error(`release: ${problem}`)
if (problems.length > 0) process.exitCode = 1
else console.log(`release: ${wanted.length} files and their signatures are verified`)

function attempt(file, check) {
  try {
    check()
  } catch (error) {
    problems.push(`${file}: ${error.message}`)
  }
}
