# The Next.js example for compose.yaml, with the OpenID Connect provider and the mailbox of its demo. Not for
# production: build your own application as Next.js describes it, with @authwire/client from the registry.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE}
ENV NEXT_TELEMETRY_DISABLED=1
WORKDIR /authwire
COPY . .
RUN npm install --no-save --ignore-scripts
RUN node_modules/.bin/tsc --build
WORKDIR /authwire/examples/nextjs
RUN npm install --no-save
RUN npm run build:standalone
USER 1000:1000
CMD ["node", "scripts/demo.js", "standalone"]
