// The rules for the fields of a key, except for scopes: scopes.ts has those, because it loads the schema.

/** The form of a tenant's name. */
export const tenantName = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The form of a certificate's name: the kind of the name, a colon, and the name. */
export const certificateNameForm = /^[A-Za-z][A-Za-z ]{1,15}:[\x21-\x7e]{1,490}$/

/** Returns whether a text is a valid display name of a key. */
export function isKeyName(name: string): boolean {
  return name.length > 0 && name.length <= 255 && !/\p{Cc}/u.test(name)
}

/** Parses a date in ISO 8601, with or without a time. Returns undefined for anything else, and for a day that does not exist. */
export function parseDate(text: unknown): Date | undefined {
  if (
    typeof text !== "string" ||
    !/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  ) {
    return undefined
  }
  const date = new Date(text)
  // Date takes 30 February for 2 March.
  const day = new Date(text.slice(0, 10))
  const exists = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
  return exists && !Number.isNaN(date.getTime()) ? date : undefined
}
