import { spawnSync } from "node:child_process"
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hasReleaseTools, root } from "@authwire/test-support/machine/deploy.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

const { version } = JSON.parse(readFileSync(join(root, "server/package.json"), "utf8")) as { version: string }
const token = `npm/authwire-token-${version}`
const proto = `npm/authwire-proto-${version}`
const chart = `chart/authwire-${version}`

function run(program: string, args: string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    encoding: "utf8",
  })
  return { code: status, output: stdout + stderr }
}
const node = (script: string, args: string[], env?: Record<string, string>) =>
  run(process.execPath, [`scripts/release/${script}`, ...args], env)

const password = "a password"
const encrypted = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: password } as const
const keyOf = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).privateKey
const environmentOf = (pem: string) => ({ AUTHWIRE_RELEASE_KEY: pem, AUTHWIRE_RELEASE_KEY_PASSWORD: password })

const withTools = hasReleaseTools() ? describe : describe.skip
withTools("what a release publishes", () => {
  const key = keyOf("P-256")
  let made: string
  beforeAll(() => {
    made = mkdtempSync(join(tmpdir(), "authwire-made-"))
    const env = environmentOf(key.export(encrypted).toString())
    const { code, output } = node("artefacts.js", [join(made, "all"), "--final", "--no-image"], env)
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^release: signed$/m) })
  })
  afterAll(() => rmSync(made, { recursive: true, force: true }))

  let folder: string
  const at = (file: string) => join(folder, file)
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-release-"))
    cpSync(join(made, "all"), folder, { recursive: true })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const verified = (publicKey = at("cosign.pub")) => node("verify.js", [folder, publicKey, "--no-image"])

  /** Signs a file again, as somebody who has the key. */
  function signAgain(file: string): void {
    writeFileSync(at(`${file}.sig`), sign("sha256", readFileSync(at(file)), key).toString("base64"))
  }

  test("is verified with the public key, and by openssl", () => {
    expect(verified()).toEqual({ code: 0, output: "release: 17 files and their signatures are verified\n" })
    const raw = at("raw")
    writeFileSync(raw, Buffer.from(readFileSync(at(`${token}.tgz.sig`), "utf8"), "base64"))
    const args = ["dgst", "-sha256", "-verify", at("cosign.pub"), "-signature", raw]
    expect(run("openssl", [...args, at(`${token}.tgz`)])).toEqual({ code: 0, output: "Verified OK\n" })
    expect(run("openssl", [...args, at(`${proto}.tgz`)])).toMatchObject({ code: 1 })
  })

  test("is not verified with another key", () => {
    writeFileSync(at("other.pub"), createPublicKey(keyOf("P-256")).export({ type: "spki", format: "pem" }))
    const { code, output } = verified(at("other.pub"))
    expect(code).toBe(1)
    expect(output.match(/is not what was signed/g)).toHaveLength(17)
    expect(output).toContain(`${token}.provenance.sigstore.json: signature verification failed`)
  })

  test.each<[string, () => void, string[]]>([
    [
      "a tarball that was changed",
      () => appendFileSync(at(`${token}.tgz`), "x"),
      [
        `${token}.tgz: is not what was signed`,
        `${token}.provenance.sigstore.json: is about another file: pkg:npm/%40authwire/token@${version}`,
        `${token}.cdx.json: describes another tarball`,
      ],
    ],
    [
      "a statement of provenance that was changed",
      () => {
        const bundle = JSON.parse(readFileSync(at(`${token}.provenance.sigstore.json`), "utf8"))
        const statement = Buffer.from(bundle.dsseEnvelope.payload, "base64").toString().replace("by-hand", "by-others")
        bundle.dsseEnvelope.payload = Buffer.from(statement).toString("base64")
        writeFileSync(at(`${token}.provenance.sigstore.json`), JSON.stringify(bundle))
        signAgain(`${token}.provenance.sigstore.json`)
      },
      [`${token}.provenance.sigstore.json: signature verification failed`],
    ],
    [
      "the provenance and the bill of materials of another package, with their signatures",
      () => {
        for (const ending of ["provenance.sigstore.json", "cdx.json"]) {
          for (const file of [ending, `${ending}.sig`]) cpSync(at(`${proto}.${file}`), at(`${token}.${file}`))
        }
      },
      [
        `${token}.provenance.sigstore.json: is about another file: pkg:npm/%40authwire/proto@${version}`,
        `${token}.cdx.json: describes @authwire/proto@${version}`,
      ],
    ],
    [
      "a damaged blob of the chart",
      () => {
        const archive = readFileSync(at(`${chart}.oci.tar`))
        const content = readFileSync(at(`${chart}.tgz`))
        archive.write("damaged", archive.indexOf(content) + 100)
        writeFileSync(at(`${chart}.oci.tar`), archive)
        signAgain(`${chart}.oci.tar`)
      },
      [`${chart}.oci.tar: sha256:`],
    ],
    ["a file without a signature", () => rmSync(at(`${token}.cdx.json.sig`)), [`${token}.cdx.json: has no signature`]],
    ["a file too many", () => writeFileSync(at("npm/more.tgz"), ""), ["npm/more.tgz: does not belong to the release"]],
  ])("with %s is rejected", (_, change, problems) => {
    change()
    const { code, output } = verified()
    expect(code).toBe(1)
    expect(output.trim().split("\n")).toEqual(problems.map((problem) => expect.stringContaining(problem)))
  })

  test.each([
    ["no key", "", "AUTHWIRE_RELEASE_KEY: is required"],
    [
      "a key of another curve",
      keyOf("P-384").export(encrypted).toString(),
      "must be a key of ECDSA on the curve P-256",
    ],
  ])("is not made with %s", (_, pem, problem) => {
    const { code, output } = node("artefacts.js", [at("again"), "--final", "--no-image"], environmentOf(pem))
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(problem) })
  })

  test("names all packages, also those that npm sbom leaves out because of development dependencies", () => {
    const { metadata, components } = JSON.parse(readFileSync(at(`npm/authwire-server-${version}.cdx.json`), "utf8"))
    expect(metadata.component).toMatchObject({ name: "@authwire/server", version, type: "library" })
    const names = components.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(["jose", "pg-protocol", "oauth4webapi", "@authwire/token"]))
    expect(components.filter(({ hashes }: { hashes?: unknown }) => hashes === undefined)).toEqual([])
  })
})

describe("the bill of materials of an image", () => {
  const server = { name: "@authwire/server", version, license: "Apache-2.0", dependencies: { left: "1" } }
  const left = { version: "1.0.0", license: "MIT" }
  function sbomOf(packages: Record<string, object>) {
    const folder = mkdtempSync(join(tmpdir(), "authwire-image-"))
    try {
      mkdirSync(join(folder, "node_modules"))
      writeFileSync(join(folder, "node_modules/.package-lock.json"), JSON.stringify({ packages }))
      const program = `import { sbomOfImage } from "./scripts/release/sbom.js"
        console.log(JSON.stringify(sbomOfImage(process.argv[1])))`
      return run(process.execPath, ["--input-type=module", "--eval", program, folder])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  test("has the packages in it and Node, and says that it does not list the base image", () => {
    const { code, output } = sbomOf({
      server,
      "node_modules/@authwire/server": { link: true },
      "node_modules/left": left,
    })
    expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" })
    const { metadata, components, compositions } = JSON.parse(output)
    expect(metadata.component).toEqual({ "bom-ref": "image", type: "container", name: "authwire", version })
    expect(components.map(({ purl }: { purl: string }) => purl)).toEqual([
      "pkg:npm/left@1.0.0",
      `pkg:npm/%40authwire/server@${version}`,
      `pkg:generic/node@${process.versions.node}`,
    ])
    expect(compositions).toEqual([{ aggregate: "incomplete", assemblies: ["image"] }])
  })

  test("fails if the image has a package that the service does not need", () => {
    const { code, output } = sbomOf({ server, "node_modules/left": left, "node_modules/right": left })
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("npm sbom does not list right@1.0.0") })
  })
})
