export * from "@authwire/client/edge"
