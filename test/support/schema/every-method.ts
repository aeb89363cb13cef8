import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { scope as scopeOption } from "@authwire/proto"
import { createFileRegistry, type DescMethod, type DescMethodUnary, fromBinary, getOption } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"

const bytes = readFileSync(createRequire(import.meta.url).resolve("@authwire/proto/descriptors.binpb"))

/** The schema, as reflection has it. */
export const schema = fromBinary(FileDescriptorSetSchema, bytes)

/** Every method of the service, one that is new included: nothing here knows their names. */
export const everyMethod: readonly DescMethod[] = [...createFileRegistry(schema)]
  .flatMap((desc) => (desc.kind === "service" ? desc.methods : []))
  .filter(({ parent }) => /^(authwire|envoy)\./.test(parent.typeName))

export const unaryMethods = everyMethod.filter((method): method is DescMethodUnary => method.methodKind === "unary")

/** The scope that the schema asks for. */
export const scopeOf = (method: DescMethod) => getOption(method, scopeOption)

/** Every scope that any method asks for. */
export const everyScope = [...new Set(everyMethod.map(scopeOf))].filter((scope) => scope !== "any").sort()
