import * as schema from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import type { DescMethod, DescService } from "@bufbuild/protobuf"

/** Every method of the schema: one that is new is among them by itself. So is Envoy's, which is about sessions as they are. */
export const ownMethods: readonly DescMethod[] = [
  ...Object.values(schema).filter((one): one is typeof one & DescService => "kind" in one && one.kind === "service"),
  Authorization,
].flatMap(({ methods }) => methods)

/** Whether a method is of the schema. Those of health and reflection are not: by them others watch the service. */
export function isOwnMethod({ parent }: DescMethod): boolean {
  return parent.file.proto.package.startsWith("authwire.") || parent === Authorization
}
