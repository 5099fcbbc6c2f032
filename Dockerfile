# An image with millrace, as the pods of `millrace kubernetes` need it:
#
#   docker build -t NAME --build-arg VERSION=1.2.3 .
#
# Packages beside this file, millrace-*.tgz, are taken in place of those of the registry: what `npm pack` makes of a
# checkout, and of the addon for the platform of the image.
FROM node:26-slim
ARG VERSION=latest
WORKDIR /opt/millrace
# One file is there in any case.
COPY Dockerfile millrace-*.tgz ./
RUN npm install --prefix . --no-audit --no-fund --cache .cache $(ls ./millrace-*.tgz 2>/dev/null || echo "millrace@$VERSION") && rm -rf .cache Dockerfile *.tgz
ENV PATH=/opt/millrace/node_modules/.bin:$PATH
USER 1000:1000
ENTRYPOINT ["millrace"]
