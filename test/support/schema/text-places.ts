import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf"

/** A request as JSON with a text of the caller's choice in one place. */
export interface TextPlace {
  /** The place, for test names. */
  readonly name: string
  /**
   * The path of the place in an error. undefined: the field is checked by the message decoder, before a request exists.
   */
  readonly path: string | undefined
  /** Returns the fields with the text. */
  with(text: string): JsonObject
}

/** Returns every place of text in a message: fields, entries of lists and maps, names and values of JSON. */
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
  // An error must not reveal an e-mail address.
  { name: " value below an address", path: "", with: (text) => ({ "ada@example.com": { b: text } }) },
]
