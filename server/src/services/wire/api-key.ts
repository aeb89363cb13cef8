import type { ApiKeySchema } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import type { WholeMessage } from "./values.js"

/** The secret and the tenant are no part of the message. */
export function fromApiKey(key: domain.ApiKey): WholeMessage<typeof ApiKeySchema> {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    certificateName: key.certificateName,
    createTime: timestampFromDate(key.created),
    expireTime: key.expires && timestampFromDate(key.expires),
    revokeTime: key.revoked && timestampFromDate(key.revoked),
  }
}
