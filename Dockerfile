# ticdc-emit without Spark and without Java: `serve`, and all other commands for jobs that fit one process.
#
#     docker build -t ticdc-emit .
#     docker run --rm ticdc-emit demo
#
# BASE: any Debian or image with Python 3.10 or newer as `python3`, and its module venv. EXTRAS: of pyproject.toml.
# JAVA=yes adds Spark and a Java runtime: for larger jobs, `replay` and `serve --broker kafka`.
ARG BASE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=avro,claim-check,cli,compression,kafka,plot,re2,registry,state,strategies
ARG JAVA=no
WORKDIR /source
COPY pyproject.toml README.md LICENSE pyspark_ticdc.py ./
COPY schemas schemas
COPY ticdc_emit ticdc_emit
# Optional secrets, which stay out of the image: pip.conf, and ca.pem, the authorities that it may name as /run/secrets/ca.pem.
RUN --mount=type=secret,id=pip.conf --mount=type=secret,id=ca.pem \
    if [ "$JAVA" = yes ]; then EXTRAS="$EXTRAS,spark,java"; fi \
    && python3 -m venv /opt/ticdc-emit \
    && PIP_CONFIG_FILE=/run/secrets/pip.conf /opt/ticdc-emit/bin/pip install --no-cache-dir --no-compile ".[$EXTRAS]" \
    && /opt/ticdc-emit/bin/pip uninstall --yes pip setuptools \
    && cd /opt/ticdc-emit/lib/python3*/site-packages \
    # headers, and the tests of other packages
    && rm -rf pyarrow/include pyarrow/tests pyarrow/src numpy/*/tests numpy/*/*/tests numpy/_core/include numpy/_core/lib/*.a \
    && find . -name __pycache__ -prune -exec rm -rf {} +

FROM ${BASE}
LABEL org.opencontainers.image.title="ticdc-emit" \
      org.opencontainers.image.description="TiCDC's messages without a TiDB cluster" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/ticdc-emit /opt/ticdc-emit
ENV PATH=/opt/ticdc-emit/bin:$PATH PYTHONUNBUFFERED=1 LANG=C.UTF-8
# a number, so that Kubernetes can see that it is not root; /work is where it may write
RUN mkdir /work && chown 10001:10001 /work
USER 10001:10001
WORKDIR /work
ENV HOME=/work
# Kafka, schema registry, control API
EXPOSE 9092 8081 8300
ENTRYPOINT ["ticdc-emit"]
CMD ["--help"]
