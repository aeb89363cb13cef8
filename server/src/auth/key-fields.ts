// What the fields of a key may be. Their scopes are in scopes.ts, which loads the schema.

/** The name that a tenant may have. */
export const tenantName = /^[a-z0-9][a-z0-9-]{0,62}$/

/** What a certificate may be named by: the kind of the name, and the name. */
export const certificateNameForm = /^[A-Za-z][A-Za-z ]{1,15}:[\x21-\x7e]{1,490}$/

/** Whether people can call a key so. */
export function isKeyName(name: string): boolean {
  return name.length > 0 && name.length <= 255 && !/\p{Cc}/u.test(name)
}

/** A date of ISO 8601, with or without its time; undefined for anything else. */
export function parseDate(text: unknown): Date | undefined {
  if (
    typeof text !== "string" ||
    !/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  ) {
    return undefined
  }
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date
}
