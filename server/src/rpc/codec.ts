import {
  create,
  type DescMethod,
  fromJsonString,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf"
import { EmptySchema, FieldMaskSchema } from "@bufbuild/protobuf/wkt"
import { Failure, invalidField } from "../errors/failure.js"
import { isObject, parsedJson } from "../util/json.js"
import type { Owner } from "../util/owner.js"
import { type Turn, turnByBytes } from "../util/turn-limit.js"
import { utf8 } from "../util/utf8.js"
import type { Call } from "./call.js"
import { checkStructs, messageOf, messageOfJson, withEmptyStructs } from "./decoded-structs.js"
import { bytesOf, jsonOf } from "./encoded-structs.js"
import { maxParts, maxPartsOfStream, partsRule } from "./interceptors/validation.js"
import { jsonFaults, maxSearched } from "./json-faults.js"
import { hasTooManyJsonParts, hasTooManyPaths } from "./json-parts.js"

/** Whose answer is encoded, and whether anybody still waits for it. */
type AnsweredCall = Pick<Call, "owner" | "signal">

/** Decodes and encodes the messages of a method. */
export interface Codec {
  /** Whether an answer may have several items, such as a page. */
  readonly hasItems: boolean
  /** Throws INVALID_FIELD if the bytes are not a well-formed request, or one with too many parts. */
  decode(bytes: Uint8Array): Message
  /** The same for a request in JSON, as UTF-8. The error names the fields that cannot be read. */
  decodeJson(bytes: Uint8Array): Message
  encode(answer: Message): Uint8Array
  /**
   * Encodes an answer. One with several items, such as a page, is encoded item by item, so that other calls have their turns.
   *
   * @param call Whose turns the work takes, until its signal aborts.
   */
  encodeInTurns(answer: Message, call: AnsweredCall): Uint8Array | Promise<Uint8Array>
  /** The same in JSON, as UTF-8. */
  encodeJsonInTurns(answer: Message, call: AnsweredCall): Promise<Uint8Array>
}

/**
 * @param turn Awaited before each piece of work for an owner; see turnLimit.
 * @param registry The messages that google.protobuf.Any may contain in JSON. Default: none.
 */
export function codecOf({ input, output, methodKind }: DescMethod, turn: Turn<Owner>, registry?: Registry): Codec {
  const listFields = output.fields.flatMap((field) =>
    field.fieldKind === "list" && field.listKind === "message" ? [field] : [],
  )
  const lists = listFields.map(({ localName }) => localName)
  const itemsIn = (answer: Message, list: string) => (answer as unknown as Record<string, Message[]>)[list] ?? []
  const hasSeveral = (answer: Message) => lists.some((list) => itemsIn(answer, list).length > 1)

  const masks = input.fields.filter(({ message }) => message?.typeName === FieldMaskSchema.typeName)

  const isOfStream = methodKind === "bidi_streaming"
  const mostParts = isOfStream ? maxPartsOfStream : maxParts
  // In JSON the same calls of a pipeline have about twice as many parts.
  const mostJsonParts = isOfStream ? 2 * maxPartsOfStream : maxParts
  const notWellFormed = (cause: unknown) => invalidField("request", `is not a well-formed ${input.typeName}`, cause)
  const encode = (answer: Message) => bytesOf(output, answer)

  /** Throws INVALID_FIELD if a field mask has too many paths, each of which becomes a text. */
  function checkMasks(json: JsonObject): void {
    for (const { name, jsonName } of masks) {
      for (const mask of [json[jsonName], json[name]])
        if (typeof mask === "string" && hasTooManyPaths(mask, mostJsonParts))
          throw invalidField(name, partsRule(mostJsonParts))
    }
  }

  /** Protobuf: the encoding of a message may be that of its parts, one after the other. */
  async function inParts(answer: Message, { owner, signal }: AnsweredCall): Promise<Uint8Array> {
    const parts = [encode({ ...answer, ...Object.fromEntries(lists.map((list) => [list, []])) })]
    const turnFor = turnByBytes(turn, owner, signal)
    for (const list of lists)
      for (const item of itemsIn(answer, list)) {
        await turnFor(parts.at(-1)?.length ?? 0)
        parts.push(encode(create(output, { [list]: [item] })))
      }
    return Buffer.concat(parts)
  }

  /** JSON: the properties in their order, of which each list is written item by item. */
  async function jsonInParts(answer: Message, { owner, signal }: AnsweredCall): Promise<Uint8Array> {
    const parts: Buffer[] = []
    const put = (text: string) => parts.push(Buffer.from(text))
    const turnFor = turnByBytes(turn, owner, signal)
    // An empty item stands for those of each list that has any, so that the properties are those of the whole, in their order.
    const empty = listFields.map(({ localName, message }) => [
      localName,
      itemsIn(answer, localName).length > 0 ? [create(message)] : [],
    ])
    const shape = jsonOf(output, { ...answer, ...Object.fromEntries(empty) }, registry)
    for (const [name, value] of Object.entries(shape)) {
      put(`${parts.length === 0 ? "{" : ","}${JSON.stringify(name)}:`)
      const list = listFields.find(({ jsonName }) => jsonName === name)
      if (list === undefined) {
        put(JSON.stringify(value))
        continue
      }
      for (const [index, item] of itemsIn(answer, list.localName).entries()) {
        await turnFor(parts.at(-1)?.length ?? 0)
        put(`${index === 0 ? "[" : ","}${JSON.stringify(jsonOf(list.message, item, registry))}`)
      }
      put("]")
    }
    put(parts.length === 0 ? "{}" : "}")
    return Buffer.concat(parts)
  }

  return {
    hasItems: lists.length > 0,
    decode(bytes) {
      let request: Message
      try {
        request = messageOf(input, bytes, mostParts)
      } catch (cause) {
        throw cause instanceof Failure ? cause : notWellFormed(cause)
      }
      checkStructs(input, request)
      return request
    },
    decodeJson(bytes) {
      const json = parsed(bytes, mostJsonParts)
      checkMasks(json)
      const empty = withEmptyStructs(input, json)
      let request: Message
      try {
        request = messageOfJson(input, json, empty, registry)
      } catch (cause) {
        const violations = bytes.length > maxSearched ? [] : jsonFaults(input, empty)
        throw violations.length > 0 ? new Failure("INVALID_FIELD", { cause, violations }) : notWellFormed(cause)
      }
      checkStructs(input, request)
      return request
    },
    encode,
    encodeInTurns: (answer, call) => (hasSeveral(answer) ? inParts(answer, call) : encode(answer)),
    encodeJsonInTurns: jsonInParts,
  }
}

/** Parses a request in JSON. Throws INVALID_FIELD if it is not JSON, has too many parts, or has a name twice in an object. */
function parsed(bytes: Uint8Array, mostParts: number): JsonObject {
  // They are counted first: parsing 4 MiB of empty objects takes a hundred times as long, and no other call is served meanwhile.
  if (hasTooManyJsonParts(bytes, mostParts)) throw invalidField("request", partsRule(mostParts))
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw invalidField("request", "must be in UTF-8", cause)
  }
  const json = parsedJson(text) as JsonValue | undefined
  if (json === undefined) throw invalidField("request", "is not well-formed JSON")
  if (!isObject(json)) throw invalidField("request", "must be an object")
  try {
    // JSON.parse takes the last of the values of a name.
    fromJsonString(EmptySchema, text, { ignoreUnknownFields: true })
  } catch (cause) {
    throw invalidField("request", "has an object with two values of the same name", cause)
  }
  return json as JsonObject
}

/** Returns about the size of the encoding of a message, or of a part of it, in bytes. */
export function sizeOfPart(part: unknown): number {
  if (typeof part === "string") return part.length
  if (typeof part !== "object" || part === null) return 8
  if (part instanceof Uint8Array) return part.length
  return Object.values(part).reduce<number>((bytes, value) => bytes + sizeOfPart(value), 8)
}
