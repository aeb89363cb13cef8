import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf"

/** A request as JSON that holds a text of the caller's choice in one place. */
export interface TextPlace {
  /** The place, for the name of a test. */
  readonly name: string
  /** How an error names it; undefined for a field that the reader of the message checks, before there is a request. */
  readonly path: string | undefined
  /** The fields that hold it. */
  with(text: string): JsonObject
}

/** Every place in a message where the schema lets text stand: fields, entries of lists and maps, names and values of JSON. */
export function textPlaces(message: DescMessage): TextPlace[] {
  return message.fields.flatMap((field) =>
    valuesOf(field).map(({ name, path, with: value }) => ({
      name: field.name + name,
      path: path === undefined ? undefined : field.name + path,
      with: (text) => ({ [field.jsonName]: value(text) }),
    })),
  )
}

interface Place {
  name: string
  path: string | undefined
  with(text: string): JsonValue
}

const itself: Place = { name: "", path: undefined, with: (text) => text }

function valuesOf(field: DescField): Place[] {
  switch (field.fieldKind) {
    case "scalar":
      return field.scalar === ScalarType.STRING ? [itself] : []
    case "message":
      return placesIn(field.message)
    case "list": {
      const entries = field.listKind === "message" ? placesIn(field.message) : []
      const own = field.listKind === "scalar" && field.scalar === ScalarType.STRING ? [itself] : entries
      return own.map((place) => ({
        name: `[]${place.name}`,
        path: place.path === undefined ? undefined : `[0]${place.path}`,
        with: (text) => [place.with(text)],
      }))
    }
    case "map":
      return [
        { name: "{} name", path: undefined, with: (text) => ({ [text]: "x" }) },
        { name: "{} value", path: undefined, with: (text) => ({ x: text }) },
      ]
    default:
      return []
  }
}

function placesIn(message: DescMessage): Place[] {
  if (message.typeName === "google.protobuf.Struct") return structPlaces
  if (message.typeName === "google.protobuf.FieldMask") return [{ name: "", path: "", with: (text) => text }]
  if (message.typeName.startsWith("google.protobuf.")) return []
  return textPlaces(message).map((place) => ({
    ...place,
    name: `.${place.name}`,
    path: place.path === undefined ? undefined : `.${place.path}`,
  }))
}

const structPlaces: Place[] = [
  { name: " value", path: ".role", with: (text) => ({ role: text }) },
  { name: " value inside", path: ".a[1][0].b", with: (text) => ({ a: [0, [{ b: text }]] }) },
  { name: " name", path: "", with: (text) => ({ [text]: 1 }) },
  { name: " name inside", path: ".a[0]", with: (text) => ({ a: [{ [text]: { b: 1 } }] }) },
  // Whoever reads the error must not find somebody's address in it.
  { name: " value below an address", path: "", with: (text) => ({ "ada@example.com": { b: text } }) },
]
