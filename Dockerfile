# The command line of regnas.
#
#   docker build -t regnas .
#   docker run --rm -v "$PWD:/work" regnas gate old.csv new.csv --max-nfr 0.02
#
# With pyarrow, for Parquet files:     docker build --build-arg EXTRAS=parquet -t regnas .
# With what families and updates need: docker build --build-arg EXTRAS=train -t regnas:train .
FROM python:3.12-slim AS build

WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY regnas regnas
COPY supernets supernets
COPY search_configs search_configs

ARG EXTRAS=""
RUN python -m venv /opt/regnas \
    && /opt/regnas/bin/pip install --no-cache-dir "/source${EXTRAS:+[$EXTRAS]}"

FROM python:3.12-slim

COPY --from=build /opt/regnas /opt/regnas
ENV PATH="/opt/regnas/bin:$PATH" \
    HOME=/home/regnas

RUN useradd --create-home --uid 1000 regnas
USER 1000
WORKDIR /work

ENTRYPOINT ["regnas"]
CMD ["--help"]
