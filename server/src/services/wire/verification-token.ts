import type { VerificationTokenSchema } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import type { WholeMessage } from "./values.js"

export function fromVerificationToken(token: domain.VerificationToken): WholeMessage<typeof VerificationTokenSchema> {
  return { identifier: token.identifier, token: token.token, expires: timestampFromDate(token.expires) }
}
