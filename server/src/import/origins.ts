import { peers } from "./peer/layouts.js"

/** The kinds of databases that can be imported. */
export const origins = [...peers, "authwire"] as const
