/** Returns the number as it is stored: 0 for -0. Only MySQL stores -0, and JSON.stringify writes it as 0. */
export function plainZero<Value extends number | null | undefined>(value: Value): Value | 0 {
  return value === 0 ? 0 : value
}
