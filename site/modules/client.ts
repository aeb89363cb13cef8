export * from "@authwire/client"
