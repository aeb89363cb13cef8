import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { scope as scopeOption } from "@authwire/proto"
import { createFileRegistry, type DescMethod, type DescMethodUnary, fromBinary, getOption } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"

const bytes = readFileSync(createRequire(import.meta.url).resolve("@authwire/proto/descriptors.binpb"))

/** The schema as reflection returns it. */
export const schema = fromBinary(FileDescriptorSetSchema, bytes)

/** Every method of the service. New methods are included automatically, because this file has no list of names. */
export const everyMethod: readonly DescMethod[] = [...createFileRegistry(schema)]
  .flatMap((desc) => (desc.kind === "service" ? desc.methods : []))
  .filter(({ parent }) => /^(authwire|envoy)\./.test(parent.typeName))

export const unaryMethods = everyMethod.filter((method): method is DescMethodUnary => method.methodKind === "unary")

/** The scope that the schema requires for a method. */
export const scopeOf = (method: DescMethod) => getOption(method, scopeOption)

/** Every scope that a method requires. */
export const everyScope = [...new Set(everyMethod.map(scopeOf))].filter((scope) => scope !== "any").sort()
