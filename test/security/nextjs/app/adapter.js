import { AuthwireAdapter } from "@authwire/client/edge"

/** The adapter that segments with every cache mode call. */
export const adapter = AuthwireAdapter({ url: process.env.AUTHWIRE_HTTP_URL })
