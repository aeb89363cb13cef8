import { AuthwireAdapter } from "@authwire/client/edge"

/** What a segment with any cache mode calls. */
export const adapter = AuthwireAdapter({ url: process.env.AUTHWIRE_HTTP_URL })
