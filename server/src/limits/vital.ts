import type { DescMethod } from "@bufbuild/protobuf"

/** Whether a method is answered whatever the load is: health and reflection, by which others watch the service. */
export function isVital({ parent }: DescMethod): boolean {
  return !parent.typeName.startsWith("authwire.")
}
