import { z } from "zod"

// The rules for the fields of a key, except for scopes: scopes.ts has those, because it loads the schema.

/** The form of a tenant's name. */
export const tenantName = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The form of a certificate's name: the kind of the name, a colon, and the name. */
export const certificateNameForm = /^[A-Za-z][A-Za-z ]{1,15}:[\x21-\x7e]{1,490}$/

/** Returns whether a text is a valid display name of a key. */
export function isKeyName(name: string): boolean {
  return name.length > 0 && name.length <= 255 && !/\p{Cc}/u.test(name)
}

/** A day, or a time of a day with seconds or without them. */
const isoDate = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
])

/** Parses a date in ISO 8601, with or without a time. Returns undefined for anything else, and for a day that does not exist. */
export function parseDate(text: unknown): Date | undefined {
  const { data } = isoDate.safeParse(text)
  return data === undefined ? undefined : new Date(data)
}
