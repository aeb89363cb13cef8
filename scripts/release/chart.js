// The Helm chart as an artefact of OCI. Helm itself pushes it to a registry of this process, whose store is an OCI image
// layout, and pulls it from there again. https://github.com/opencontainers/image-spec/blob/main/image-layout.md
import { execFile, execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { buffer } from "node:stream/consumers"
import { promisify } from "node:util"
import { root } from "./packages.js"

const helm = join(root, "build/deploy/bin/helm")

/**
 * Packs the chart into a folder, as the tarball that `helm package` makes and as `….oci.tar`, an OCI image layout.
 * Returns both files. Throws unless Helm pulls from the layout what it pushed.
 */
export async function packChart(folder, version) {
  execFileSync(helm, ["package", join(root, "deploy/helm/authwire"), `--destination=${folder}`], { stdio: "pipe" })
  const tarball = join(folder, `authwire-${version}.tgz`)
  const work = mkdtempSync(join(tmpdir(), "authwire-chart-"))
  const layout = join(work, "layout")
  const registry = await serveLayout(layout)
  try {
    const run = (...args) =>
      promisify(execFile)(helm, [...args, "--plain-http"], { env: { ...process.env, HOME: work } })
    await run("push", tarball, `oci://${registry.host}`)
    verifyLayout(layout)
    await run("pull", `oci://${registry.host}/authwire`, `--version=${version}`, `--destination=${work}`)
    if (!readFileSync(join(work, basename(tarball))).equals(readFileSync(tarball)))
      throw new Error("helm pulls another chart than it pushed")
    const archive = tarball.replace(/tgz$/, "oci.tar")
    execFileSync("tar", ["--create", "--sort=name", `--file=${archive}`, "--directory", layout, "."])
    return [tarball, archive]
  } finally {
    registry.close()
    rmSync(work, { recursive: true, force: true })
  }
}

/** Throws unless an OCI image layout in an archive of tar is complete. */
export function verifyArchive(archive) {
  const work = mkdtempSync(join(tmpdir(), "authwire-chart-"))
  try {
    execFileSync("tar", ["--extract", `--file=${archive}`, "--directory", work])
    verifyLayout(work)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Throws unless every blob that an OCI image layout refers to is there, with its size and digest. */
function verifyLayout(layout) {
  const read = (path) => readFileSync(join(layout, path))
  if (JSON.parse(read("oci-layout")).imageLayoutVersion !== "1.0.0") throw new Error("oci-layout: another version")
  const { manifests } = JSON.parse(read("index.json"))
  if (manifests.length === 0) throw new Error("index.json: names no manifest")
  const check = ({ digest, size }) => {
    const content = read(join("blobs", digest.replace(":", "/")))
    if (content.length !== size || digestOf(content) !== digest) throw new Error(`${digest}: has another content`)
    return content
  }
  for (const manifest of manifests) {
    const { config, layers } = JSON.parse(check(manifest))
    for (const blob of [config, ...layers]) check(blob)
  }
}

/** A registry on loopback with what Helm needs: blobs in one piece, manifests by tag or digest. */
async function serveLayout(layout) {
  const blobs = join(layout, "blobs/sha256")
  mkdirSync(blobs, { recursive: true })
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }))
  const manifests = new Map()

  function keep(content) {
    const digest = digestOf(content)
    writeFileSync(join(blobs, digest.replace("sha256:", "")), content)
    return digest
  }

  function keepManifest(tag, mediaType, content) {
    const digest = keep(content)
    for (const name of [tag, digest]) manifests.set(name, { mediaType, digest })
    const annotations = { "org.opencontainers.image.ref.name": tag }
    const index = {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [{ mediaType, digest, size: content.length, annotations }],
    }
    writeFileSync(join(layout, "index.json"), JSON.stringify(index))
    return digest
  }

  async function answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, "http://registry")
    const [, kind, name = ""] = /^\/v2\/authwire\/(blobs|manifests)\/(.*)$/.exec(pathname) ?? []
    const found = (digest, type) => {
      const content = readFileSync(join(blobs, digest.replace("sha256:", "")))
      const headers = { "content-type": type, "content-length": content.length, "docker-content-digest": digest }
      response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : content)
    }
    if (request.method === "POST") return response.writeHead(202, { location: "/v2/authwire/blobs/uploads/1" }).end()
    if (request.method === "PUT") {
      const content = await buffer(request)
      const kept = kind === "manifests" ? keepManifest(name, request.headers["content-type"], content) : keep(content)
      const isWanted = kind === "manifests" || kept === searchParams.get("digest")
      return response.writeHead(isWanted ? 201 : 400, { "docker-content-digest": kept, location: pathname }).end()
    }
    const manifest = manifests.get(name)
    if (kind === "manifests" && manifest) return found(manifest.digest, manifest.mediaType)
    if (kind === "blobs" && isKept(name)) return found(name, "application/octet-stream")
    return response.writeHead(pathname === "/v2/" ? 200 : 404).end()
  }

  function isKept(digest) {
    return /^sha256:[0-9a-f]{64}$/.test(digest) && existsSync(join(blobs, digest.replace("sha256:", "")))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { host: `127.0.0.1:${server.address().port}`, close: () => server.close() }
}

function digestOf(content) {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`
}
