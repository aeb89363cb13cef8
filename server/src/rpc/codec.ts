import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { invalidField } from "../errors/failure.js"

/** Unknown fields are dropped, because the schema has no limit for them and nothing reads them. */
const withoutUnknown = { readUnknownFields: false }

/** Decodes and encodes the messages of a method. */
export interface Codec {
  /** Throws INVALID_FIELD if the bytes are not a well-formed request. */
  decode(bytes: Uint8Array): Message
  encode(answer: Message): Uint8Array
}

export function codecOf({ input, output }: DescMethod): Codec {
  return {
    decode(bytes) {
      try {
        return fromBinary(input, bytes, withoutUnknown)
      } catch (cause) {
        throw invalidField("request", `is not a well-formed ${input.typeName}`, cause)
      }
    },
    encode: (answer) => toBinary(output, answer),
  }
}
