# ticdc-emit without Spark and Java: `serve`, and every command for jobs that fit one process. docs/operations.md says how to use it.
#
#     docker build -t ticdc-emit .
#     docker run --rm -p 9092:9092 -p 8081:8081 ticdc-emit serve --schema shop --advertise localhost
#
# BASE: an image with Python 3.11 or newer as `python3`, and its module venv.
# EXTRAS: those of pyproject.toml that are installed. JAVA=yes adds Spark and a Java runtime.
ARG BASE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=avro,claim-check,compression,faker,kafka,re2,registry,serve,state,storage,strategies
ARG JAVA=no
WORKDIR /source
COPY pyproject.toml README.md LICENSE pyspark_ticdc.py ./
COPY schemas schemas
COPY ticdc_emit ticdc_emit
# Two optional secrets, which do not stay in the image: pip.conf, and ca.pem, which it may name as /run/secrets/ca.pem.
# Bytecode stays, because the user of the image cannot write it: without it, each command takes half a second longer.
# Headers, tests of packages and pyarrow's Flight (33 MB) do not stay. The demo shows that nothing is missing.
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    if [ "$JAVA" = yes ]; then EXTRAS="$EXTRAS,spark,java"; fi; \
    python3 -m venv /opt/ticdc-emit \
    && PIP_CONFIG_FILE=/run/secrets/pip.conf /opt/ticdc-emit/bin/pip install --no-cache-dir ".[$EXTRAS]" \
    && /opt/ticdc-emit/bin/pip uninstall --quiet --yes pip setuptools \
    && cd /opt/ticdc-emit/lib/python3*/site-packages \
    && rm -rf pyarrow/include pyarrow/src pyarrow/tests pyarrow/*flight* \
        numpy/_core/include numpy/tests numpy/*/tests numpy/*/*/tests \
    && /opt/ticdc-emit/bin/ticdc-emit demo --rows 10 --json

FROM ${BASE}
LABEL org.opencontainers.image.title="ticdc-emit" \
      org.opencontainers.image.description="TiCDC's messages without a TiDB cluster" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/ticdc-emit /opt/ticdc-emit
# The user has a number, so that Kubernetes sees that it is not root, and a name, which Spark asks for. It may write to /data,
# also to the cache where a folder with Kafka's jars is mounted.
RUN mkdir -p /data/.cache/ticdc-emit && chown -R 10001:10001 /data \
    && echo 'ticdc-emit:x:10001:10001::/data:/usr/sbin/nologin' >> /etc/passwd
USER 10001:10001
WORKDIR /data
ENV PATH=/opt/ticdc-emit/bin:$PATH HOME=/data LANG=C.UTF-8 PYTHONUNBUFFERED=1 \
    TICDC_EMIT_HOST=0.0.0.0 TICDC_EMIT_READY_FILE=/tmp/ticdc-emit.json
# Kafka, the schema registry and the control API of `serve`
EXPOSE 9092 8081 8300
# `serve` is healthy once consumers can connect and, with a schema, the first message is there
HEALTHCHECK --interval=2s --timeout=5s --start-period=60s CMD ["python3", "-c", \
    "import json, os, socket; socket.create_connection(json.load(open(os.environ['TICDC_EMIT_READY_FILE']))['bootstrap'].rsplit(':', 1), 3)"]
ENTRYPOINT ["ticdc-emit"]
CMD ["serve"]
