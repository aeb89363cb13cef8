import { peers } from "./peer/layouts.js"

/** Whose databases can be imported. */
export const origins = [...peers, "authwire"] as const
