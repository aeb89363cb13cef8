/** A number as it is kept: 0 for -0, which of the databases MySQL alone keeps, and which JSON.stringify writes as 0. */
export function plainZero<Value extends number | null | undefined>(value: Value): Value | 0 {
  return value === 0 ? 0 : value
}
