import { type JWT, type JWTDecodeParams, type NextAuth4DecodeParams, TokenMalformed } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { jsonFault } from "../rpc/json.js"

/** Returns a `decode` of the token module, with TokenMalformed for claims that a google.protobuf.Struct cannot carry. */
export function readableClaims<Params extends JWTDecodeParams | NextAuth4DecodeParams>(
  decode: <Payload>(params: Params) => Promise<Payload | null>,
) {
  return async (params: Params): Promise<(JWT & JsonObject) | null> => {
    const claims = await decode<JWT & JsonObject>(params)
    if (claims !== null && jsonFault(claims) !== undefined) throw new TokenMalformed()
    return claims
  }
}
