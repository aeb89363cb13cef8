import { type JWT, type JWTDecodeParams, TokenMalformed, type TokenModule } from "@authwire/token"
import type { JsonObject } from "@bufbuild/protobuf"
import { jsonFault } from "../rpc/json.js"

/** Returns the token module's `decode`, with TokenMalformed for claims that a google.protobuf.Struct cannot carry. */
export function readableClaims({ decode }: Pick<TokenModule, "decode">) {
  return async (params: JWTDecodeParams): Promise<(JWT & JsonObject) | null> => {
    const claims = await decode<JWT & JsonObject>(params)
    if (claims !== null && jsonFault(claims) !== undefined) throw new TokenMalformed()
    return claims
  }
}
