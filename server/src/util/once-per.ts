/** Returns a function that builds the value of each key once, and keeps it for ever: for keys of which there are few. */
export function oncePer<Key, Value extends object | string>(build: (key: Key) => Value): (key: Key) => Value {
  const built = new Map<Key, Value>()
  return (key) => {
    let value = built.get(key)
    if (value === undefined) {
      value = build(key)
      built.set(key, value)
    }
    return value
  }
}
