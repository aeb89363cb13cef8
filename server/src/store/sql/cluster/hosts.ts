/**
 * Splits a URL with several hosts, `mysql://USER:PASSWORD@h1:3306,h2:3306/DATABASE`, into one URL per host. A URL with
 * at most one host is returned as it is. Throws a TypeError if a host of the list is empty, or if the URL also has a
 * socket.
 */
export function urlsOfHosts(url: string): string[] {
  const [, before, hosts = "", after] = /^((?:mysql|mariadb):\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(url) ?? []
  if (!hosts.includes(",")) return [url]
  const list = hosts.split(",")
  if (list.some((host) => host === "")) {
    throw new TypeError("the database URL contains an empty host name: mysql://…@HOST:PORT,HOST:PORT/DATABASE")
  }
  if (/[?&]socket(Path)?=/.test(after ?? ""))
    throw new TypeError("the database URL has a socket, so it must not contain another host")
  return list.map((host) => `${before}${host}${after}`)
}
