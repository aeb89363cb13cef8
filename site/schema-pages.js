// Generates the pages of the schema from its comments: one page for each file of proto/authwire/v1.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createFileRegistry, fromBinary, getOption, hasOption, ScalarType, toJson } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt"
import { root } from "./sections.js"

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(join(root, "gen/ts/descriptors.binpb"))),
)
const scope = registry.getExtension("authwire.v1.scope")
const rules = registry.getExtension("buf.validate.field")

/** Writes the pages to a folder, and `sidebar.json` with their titles. */
export function writeSchemaPages(folder) {
  mkdirSync(folder, { recursive: true })
  const files = [...registry.files].filter(({ name }) => name.startsWith("authwire/v1/"))
  for (const file of files) writeFileSync(join(folder, `${baseOf(file)}.md`), pageOf(file))
  const services = files.filter(({ services }) => services.length > 0)
  const others = files.filter((file) => !services.includes(file))
  const group = (text, members) => ({
    text,
    items: members
      .map((file) => ({ text: titleOf(file), link: `/api/${baseOf(file)}` }))
      .sort((a, b) => compare(a.text, b.text)),
  })
  writeFileSync(
    join(folder, "sidebar.json"),
    JSON.stringify([group("Services", services), group("Messages and errors", others)]),
  )
  writeFileSync(join(folder, "index.md"), indexOf(services))
}

/** Returns the page of all services with their methods. */
function indexOf(services) {
  const parts = services.flatMap((file) =>
    file.services.map((service, at) => {
      const [about] = commentsOf(file)([6, at]).split(/(?<=\.)\s/)
      const methods = service.methods.map(({ name }) => `[${name}](./${baseOf(file)}.md#${name.toLowerCase()})`)
      return `## [${service.name}](./${baseOf(file)}.md)\n\n${about}\n\n${methods.join(" · ")}`
    }),
  )
  const links = "See also [errors](/docs/errors) and [limits](/docs/limits)."
  const typescript =
    "In TypeScript: [@authwire/client](/reference/client/), [@authwire/client/edge](/reference/client-edge/), [@authwire/token](/reference/token/)."
  return `# API\n\nAll services and their methods. Each can be called with gRPC, gRPC-Web and Connect.\n\n${links} ${typescript}\n\n${parts.sort(compare).join("\n\n")}\n`
}

function compare(a, b) {
  return a < b ? -1 : 1
}

function baseOf({ name }) {
  return name.replace("authwire/v1/", "")
}

function titleOf(file) {
  return (file.services[0] ?? file.messages[0] ?? file.enums[0])?.name ?? baseOf(file)
}

function pageOf(file) {
  const comments = commentsOf(file)
  // A message that one method alone takes or returns stands below it.
  const owners = Map.groupBy(
    file.services.flatMap(({ methods }) => methods.flatMap((method) => [method.input, method.output])),
    (message) => message,
  )
  const isOwn = (message) => message.file === file && owners.get(message)?.length === 1
  const own = (message) =>
    isOwn(message) ? messageParts(message, [4, file.messages.indexOf(message)], comments, "###") : []
  const parts = [
    `# ${titleOf(file)}`,
    `\`${file.name}.proto\``,
    ...file.services.flatMap((service, at) => serviceParts(service, [6, at], comments, own)),
    ...file.messages.flatMap((message, at) => (isOwn(message) ? [] : messageParts(message, [4, at], comments, "##"))),
    ...file.enums.flatMap((one, at) => enumParts(one, [5, at], comments, "##")),
    ...file.extensions.map((one, at) => `## ${one.name}\n\n${comments([7, at])}`),
  ]
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`
}

/** Returns a function that finds the comment of the element at a path of a FileDescriptorProto. */
function commentsOf({ proto }) {
  const texts = new Map(
    (proto.sourceCodeInfo?.location ?? []).map(({ path, leadingComments, trailingComments }) => [
      path.join("."),
      `${leadingComments}${trailingComments}`,
    ]),
  )
  return (path) => plain(texts.get(path.join(".")) ?? "")
}

/** Escapes a comment: comments are text, not Markdown, so HTML and Vue template syntax in them is shown literally. */
function plain(text) {
  const lines = text.split("\n").map((line) => line.replace(/^ /, ""))
  return lines
    .join("\n")
    .trim()
    .split(/(`[^`]*`)/)
    .map((part, at) =>
      at % 2 === 1 ? part : part.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("{{", "&#123;{"),
    )
    .join("")
    .replaceAll(/^([A-Z][A-Z_]+) \(/gm, "- $1 (")
}

function serviceParts(service, path, comments, own) {
  return [
    comments(path),
    ...service.methods.flatMap((method, at) => [
      `## ${method.name}`,
      comments([...path, 2, at]),
      [
        `- Request: ${typeLink(method.input)}`,
        `- Response: ${typeLink(method.output)}${method.methodKind === "unary" ? "" : ` (${method.methodKind.replace("_", " ")})`}`,
        ...(hasOption(method, scope) ? [`- Scope: \`${getOption(method, scope)}\``] : []),
        `- ${idempotency(method)}`,
      ].join("\n"),
      ...own(method.input),
      ...own(method.output),
    ]),
  ]
}

function idempotency({ idempotency: level }) {
  if (level === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return "Read-only: a call can be repeated safely."
  if (level === MethodOptions_IdempotencyLevel.IDEMPOTENT) return "Idempotent: a call can be repeated safely."
  return "Not idempotent: a repeated call may have another effect."
}

function messageParts(message, path, comments, level, parent = "") {
  const name = `${parent}${message.name}`
  const row = (field, at) => {
    // Two columns, so that the description is wide enough to be read.
    const about = [cell(comments([...path, 2, at])), ruleText(field)].filter((text) => text !== "")
    return `| \`${field.name}\`<br>${fieldType(field)} | ${about.join("<br>Rules: ")} |`
  }
  const table = ["| field | description |", "| --- | --- |", ...message.fields.map(row)]
  return [
    `${level} ${name}`,
    comments(path),
    message.fields.length === 0 ? "No fields." : table.join("\n"),
    ...message.nestedMessages.flatMap((one, at) => messageParts(one, [...path, 3, at], comments, level, `${name}.`)),
    ...message.nestedEnums.flatMap((one, at) => enumParts(one, [...path, 4, at], comments, level)),
  ]
}

function enumParts(one, path, comments, level) {
  const rows = one.values.map((value, at) => `| \`${value.name}\` | ${cell(comments([...path, 2, at]))} |`)
  return [`${level} ${one.name}`, comments(path), ["| value | description |", "| --- | --- |", ...rows].join("\n")]
}

function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll(/^- /gm, "").replaceAll(/\n+/g, " ")
}

function ruleText(field) {
  if (!hasOption(field, rules)) return ""
  const value = toJson(rules.message, getOption(field, rules), { registry })
  return `\`${JSON.stringify(value).replaceAll("`", "'").replaceAll("|", "\\|")}\``
}

function fieldType(field) {
  const one = typeOf(field.fieldKind === "list" ? field.listKind : field.fieldKind, field)
  if (field.fieldKind === "map") return "map"
  return `${field.fieldKind === "list" ? "repeated " : field.proto.proto3Optional ? "optional " : ""}${one}`
}

function typeOf(kind, { message, enum: choice, scalar }) {
  if (kind === "message") return typeLink(message)
  if (kind === "enum") return typeLink(choice)
  return kind === "scalar" ? ScalarType[scalar].toLowerCase() : kind
}

function typeLink(type) {
  if (!type.file.name.startsWith("authwire/v1/")) return `\`${type.typeName}\``
  return `[${type.name}](./${baseOf(type.file)}.md#${type.name.toLowerCase()})`
}
