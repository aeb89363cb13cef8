// Statements of provenance, in the form in which npm publishes them: SLSA provenance 1.0 in a statement of in-toto, in a
// bundle of Sigstore. https://slsa.dev/spec/v1.0/provenance
import { createHash, createPublicKey, sign } from "node:crypto"
import { bundleFromJSON, bundleToJSON } from "@sigstore/bundle"
import { DSSEBundleBuilder } from "@sigstore/sign"
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify"

const repository = "https://github.com/authwire/authwire"
const payloadType = "application/vnd.in-toto+json"
const statementType = "https://in-toto.io/Statement/v1"
const predicateType = "https://slsa.dev/provenance/v1"

/**
 * Returns a signed statement that a tarball was packed from a commit, as JSON.
 *
 * @param builder - The URI of what ran the build.
 * @param lock - The content of package-lock.json.
 */
export async function provenanceOf({ name, version, tarball, commit, lock, builder, startedOn }, key) {
  const statement = {
    _type: statementType,
    subject: [subject(name, version, tarball)],
    predicateType,
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/v${version}/docs/releasing.md`,
        externalParameters: { repository: `git+${repository}`, ref: `refs/tags/v${version}`, target: "release-check" },
        resolvedDependencies: [
          { uri: `git+${repository}@refs/tags/v${version}`, digest: { gitCommit: commit } },
          { uri: "package-lock.json", digest: { sha256: createHash("sha256").update(lock).digest("hex") } },
        ],
      },
      runDetails: {
        builder: { id: builder, version: { node: process.versions.node } },
        metadata: { startedOn, finishedOn: new Date().toISOString() },
      },
    },
  }
  const builderOfBundles = new DSSEBundleBuilder({ signer: signerOf(key), witnesses: [] })
  const bundle = await builderOfBundles.create({ data: Buffer.from(JSON.stringify(statement)), type: payloadType })
  return JSON.stringify(bundleToJSON(bundle))
}

/** Throws unless a statement is signed with a key and is about a tarball. `publicKey` is in PEM. */
export function verifyProvenance(json, { name, version, tarball }, publicKey) {
  const bundle = bundleFromJSON(JSON.parse(json))
  const none = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] }
  const trusted = toTrustMaterial(none, () => ({ publicKey: createPublicKey(publicKey), validFor: () => true }))
  // No log of transparency is asked: there the key is of a person and not of an identity that the log vouches for.
  const verifier = new Verifier(trusted, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 })
  verifier.verify(toSignedEntity(bundle))

  const { payload, payloadType: type } = bundle.content.dsseEnvelope
  const statement = JSON.parse(payload.toString("utf8"))
  const wanted = subject(name, version, tarball)
  const [told = {}] = statement.subject
  if (type !== payloadType || statement.predicateType !== predicateType) throw new Error("is no provenance of SLSA")
  if (told.name !== wanted.name || told.digest.sha512 !== wanted.digest.sha512)
    throw new Error(`is about another file: ${told.name}`)
}

function subject(name, version, tarball) {
  return {
    name: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    digest: { sha512: createHash("sha512").update(tarball).digest("hex") },
  }
}

function signerOf(key) {
  const publicKey = createPublicKey(key).export({ type: "spki", format: "pem" })
  return { sign: async (data) => ({ signature: sign("sha256", data, key), key: { $case: "publicKey", publicKey } }) }
}
