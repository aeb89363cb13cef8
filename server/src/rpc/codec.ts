import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { invalidField } from "../errors/failure.js"
import { turnByBytes } from "../util/turn-limit.js"
import { withEncodedStructs } from "./encoded-structs.js"
import { partsRule } from "./interceptors/validation.js"
import { hasTooManyParts } from "./wire-parts.js"

/** Unknown fields are dropped, because the schema has no limit for them and nothing reads them. */
const withoutUnknown = { readUnknownFields: false }

/** Decodes and encodes the messages of a method. */
export interface Codec {
  /** Whether an answer may have several items, such as a page. */
  readonly hasItems: boolean
  /** Throws INVALID_FIELD if the bytes are not a well-formed request, or one with too many parts. */
  decode(bytes: Uint8Array): Message
  encode(answer: Message): Uint8Array
  /** Returns an answer with the same encoding for Connect, which encodes it itself: see withEncodedStructs. */
  prepare(answer: Message): Message
  /** Encodes an answer. One with several items, such as a page, is encoded item by item, so that other calls have their turns. */
  encodeInTurns(answer: Message): Uint8Array | Promise<Uint8Array>
  /** The same in JSON, as UTF-8. */
  encodeJsonInTurns(answer: Message): Promise<Uint8Array>
}

/** @param turn Awaited before each piece of work; see turnLimit. */
export function codecOf({ input, output }: DescMethod, turn: () => Promise<void>): Codec {
  const listFields = output.fields.filter((field) => field.fieldKind === "list" && field.listKind === "message")
  const lists = listFields.map(({ localName }) => localName)
  const itemsIn = (answer: Message, list: string) => (answer as unknown as Record<string, Message[]>)[list] ?? []
  const hasSeveral = (answer: Message) => lists.some((list) => itemsIn(answer, list).length > 1)

  /** Returns a copy with the first items of each list. */
  const withFirst = (answer: Message, count: number): Message => ({
    ...answer,
    ...Object.fromEntries(lists.map((list) => [list, itemsIn(answer, list).slice(0, count)])),
  })

  const prepare = (answer: Message) => withEncodedStructs(output, answer)
  const encode = (answer: Message) => toBinary(output, prepare(answer))

  /** Protobuf: the encoding of a message may be that of its parts, one after the other. */
  async function inParts(answer: Message): Promise<Uint8Array> {
    const parts = [encode(withFirst(answer, 0))]
    const turnFor = turnByBytes(turn)
    for (const list of lists)
      for (const item of itemsIn(answer, list)) {
        await turnFor(parts.at(-1)?.length ?? 0)
        parts.push(encode(create(output, { [list]: [item] })))
      }
    return Buffer.concat(parts)
  }

  async function jsonInParts(answer: Message): Promise<Uint8Array> {
    // With the first item of each list, so that the properties have the order of the fields.
    const json = toJson(output, withFirst(answer, 1)) as JsonObject
    const turnFor = turnByBytes(turn)
    for (const { localName, jsonName, message } of listFields) {
      const items = itemsIn(answer, localName)
      for (const [before, item] of items.slice(1).entries()) {
        await turnFor(sizeOfPart(items[before]))
        ;(json[jsonName] as JsonObject[]).push(toJson(message as DescMessage, item) as JsonObject)
      }
    }
    return Buffer.from(JSON.stringify(json))
  }

  return {
    hasItems: lists.length > 0,
    decode(bytes) {
      if (hasTooManyParts(input, bytes)) throw invalidField("request", partsRule)
      try {
        return fromBinary(input, bytes, withoutUnknown)
      } catch (cause) {
        throw invalidField("request", `is not a well-formed ${input.typeName}`, cause)
      }
    },
    prepare,
    encode,
    encodeInTurns: (answer) => (hasSeveral(answer) ? inParts(answer) : encode(answer)),
    encodeJsonInTurns: jsonInParts,
  }
}

/** Returns about the size of the encoding of a message, or of a part of it, in bytes. */
export function sizeOfPart(part: unknown): number {
  if (typeof part === "string") return part.length
  if (typeof part !== "object" || part === null) return 8
  if (part instanceof Uint8Array) return part.length
  return Object.values(part).reduce<number>((bytes, value) => bytes + sizeOfPart(value), 8)
}
