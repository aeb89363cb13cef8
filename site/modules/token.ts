export * from "@authwire/token"
