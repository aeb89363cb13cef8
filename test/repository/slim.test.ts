import * as whole from "@authwire/proto"
import * as slim from "@authwire/proto/slim"
import type { AnyDesc, DescField } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"

/** The parts of the schema that matter on the wire and in a client. */
function shapeOf(desc: AnyDesc): unknown {
  switch (desc.kind) {
    case "message":
      return { name: desc.typeName, fields: desc.fields.map(shapeOfField) }
    case "enum":
      return { name: desc.typeName, values: desc.values.map(({ localName, number }) => [localName, number]) }
    case "service":
      return desc.methods.map(({ name, methodKind, idempotency, input, output }) => [
        `${desc.typeName}/${name}`,
        methodKind,
        idempotency,
        input.typeName,
        output.typeName,
      ])
    default:
      return desc.kind
  }
}

function shapeOfField({ proto, localName, oneof }: DescField): unknown {
  const { name, number, type, typeName, label, proto3Optional } = proto
  return { name, localName, number, type, typeName, label, proto3Optional, oneof: oneof?.name }
}

const shapesOf = (schema: object) =>
  Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, "kind" in value ? shapeOf(value as AnyDesc) : value]),
  )

test("@authwire/proto/slim is the schema, without the options that only the service reads", () => {
  const {
    scope: _,
    subject: __,
    audit_fields: ___,
    shares_limit_of: ____,
    file_authwire_v1_permission: _____,
    ...rest
  } = shapesOf(whole)
  expect(Object.keys(rest).length).toBeGreaterThan(50)
  expect(shapesOf(slim)).toEqual(rest)
})
