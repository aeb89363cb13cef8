import { GetSessionAndUserRequestSchema, GetSessionAndUserResponseSchema } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { dataExpires, email, sessionToken, userId } from "../data/keys.ts"

/** The message that asks for a session of the data. */
export function questionBytes(session: number): Buffer {
  const message = create(GetSessionAndUserRequestSchema, { sessionToken: sessionToken(session) })
  return Buffer.from(toBinary(GetSessionAndUserRequestSchema, message))
}

/** The message that answers it. */
export function answerBytes(): Buffer {
  const user = 54_321
  const message = create(GetSessionAndUserResponseSchema, {
    session: { sessionToken: sessionToken(user * 2), userId: userId(user), expires: timestampFromDate(dataExpires) },
    user: {
      id: userId(user),
      email: email(user),
      name: `Ada Lovelace ${user}`,
      image: `https://avatars.example.com/u/${user}?v=4`,
    },
  })
  return Buffer.from(toBinary(GetSessionAndUserResponseSchema, message))
}
