// schemas.js FOLDER: writes the JSON schemas with which kubeconform checks the chart. They come from Go modules, pinned
// by version and hash: the OpenAPI schema of Kubernetes, and the CustomResourceDefinitions of ServiceMonitor and
// PrometheusRule.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const kubernetes = {
  path: "k8s.io/kubernetes",
  version: "v1.34.1",
  sum: "h1:F3p8dtpv+i8zQoebZeK5zBqM1g9x1aIdnA5vthvcuUk=",
}
const prometheusOperator = {
  path: "github.com/prometheus-operator/prometheus-operator",
  version: "v0.85.0",
  sum: "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
}

const [folder = "build/deploy/schemas"] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

const { definitions } = JSON.parse(readFileSync(join(download(kubernetes), "api/openapi-spec/swagger.json"), "utf8"))
const strict = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, close(name, schema)]))
writeFileSync(join(folder, "definitions.json"), JSON.stringify({ definitions: strict }))
for (const [name, schema] of Object.entries(definitions)) {
  for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"] ?? []) {
    write(group, version, kind, { $ref: `definitions.json#/definitions/${name}` })
  }
}
const definitionsOfOperator = join(download(prometheusOperator), "jsonnet/prometheus-operator")
for (const file of ["servicemonitors-crd.json", "prometheusrules-crd.json"]) {
  const { group, names, versions } = JSON.parse(readFileSync(join(definitionsOfOperator, file), "utf8")).spec
  for (const { name, schema } of versions) write(group, name, names.kind, closeAll(schema.openAPIV3Schema))
}

/** Downloads a module and returns its folder. The Go command has verified it with the checksum database. */
function download({ path, version, sum }) {
  // Outside of any module, so that no go.mod affects the download.
  const text = execFileSync("go", ["mod", "download", "-json", `${path}@${version}`], {
    cwd: tmpdir(),
    encoding: "utf8",
  })
  const { Dir, Sum } = JSON.parse(text)
  if (Sum !== sum) throw new Error(`${path}@${version} is ${Sum}, not ${sum}`)
  return Dir
}

/** Rejects unknown properties, because Kubernetes would ignore a misspelled name. */
function close(name, schema) {
  if (name.endsWith(".IntOrString")) return { type: ["integer", "string"] }
  if (name.endsWith(".Quantity")) return { type: ["number", "string"] }
  return schema.properties && !schema.additionalProperties ? { ...schema, additionalProperties: false } : schema
}

function closeAll(value) {
  if (Array.isArray(value)) return value.map(closeAll)
  if (typeof value !== "object" || value === null) return value
  const { "x-kubernetes-int-or-string": either, ...schema } = value
  if (either) return { type: ["integer", "string"] }
  const closed = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, closeAll(one)]))
  // The type of `metadata` is defined by Kubernetes, not by this definition.
  const isOpen = schema.type !== "object" || !schema.properties || schema.additionalProperties !== undefined
  return isOpen ? closed : { ...closed, additionalProperties: false }
}

/** Writes a schema under the name that kubeconform expects. */
function write(group, version, kind, schema) {
  const name = [kind, group.split(".")[0], version].filter((part) => part !== "").join("-")
  const text = JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...schema })
  writeFileSync(join(folder, `${name.toLowerCase()}.json`), text)
}
