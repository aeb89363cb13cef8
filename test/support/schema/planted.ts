import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf"

/** Returns a request that has `plant(name)` in every place of a text, bytes, or a property name. */
export function planted(desc: DescMessage, plant: (field: string) => string): Message {
  const init: Record<string, unknown> = {}
  for (const field of desc.fields) if (field.oneof === undefined) init[field.localName] = plantedValue(field, plant)
  return create(desc, init)
}

function plantedValue(field: DescField, plant: (field: string) => string): unknown {
  switch (field.fieldKind) {
    case "scalar":
      return scalar(field.scalar, field.name, plant)
    case "enum":
      return 1
    case "message":
      return message(field.message, field.name, plant)
    case "list":
      if (field.listKind === "message") return [message(field.message, field.name, plant)]
      return field.listKind === "enum" ? [1] : [plant(field.name)]
    case "map":
      return { [plant(field.name)]: plant(field.name) }
  }
}

function scalar(type: ScalarType, name: string, plant: (field: string) => string): unknown {
  switch (type) {
    case ScalarType.STRING:
      return plant(name)
    case ScalarType.BYTES:
      return Buffer.from(plant(name))
    case ScalarType.BOOL:
      return true
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return 1n
    default:
      return 1
  }
}

function message(desc: DescMessage, name: string, plant: (field: string) => string): unknown {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return { seconds: 4_102_444_800n }
    case "google.protobuf.Struct":
      return { [plant(name)]: plant(name), list: [plant(name), { [plant(name)]: plant(name) }] }
    case "google.protobuf.FieldMask":
      return { paths: [plant(name)] }
    default:
      return planted(desc, plant)
  }
}
