/** The times that every database can store, to the millisecond: those of rows are within this range. */
export const firstTime = new Date("1000-01-01T00:00:00.000Z")
export const lastTime = new Date("9999-12-31T23:59:59.999Z")
