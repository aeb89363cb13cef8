import * as schema from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import type { DescMethod, DescService } from "@bufbuild/protobuf"

/**
 * Every method of the schema, collected from its exports so that a new method is included automatically. Envoy's
 * Authorization is included, because it is about sessions too.
 */
export const ownMethods: readonly DescMethod[] = [
  ...Object.values(schema).filter((one): one is typeof one & DescService => "kind" in one && one.kind === "service"),
  Authorization,
].flatMap(({ methods }) => methods)

/** Returns whether a method is one of these. Health and reflection are not, because they serve to watch the service. */
export function isOwnMethod({ parent }: DescMethod): boolean {
  return parent.file.proto.package.startsWith("authwire.") || parent === Authorization
}
