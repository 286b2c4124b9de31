# The package with OpenCompass, on the CPU: models behind an API, scoring, reports. Engines with GPUs run beside it.
# Written and linted, but not built by this project's tests.
#   docker build -t opencompass-tooleval .
#   docker run --rm -it -v "$PWD:/work" -e OPENAI_API_KEY opencompass-tooleval opencompass my_config.py
# PIP_ARGS may name an index with CPU builds of torch: --build-arg PIP_ARGS='--extra-index-url URL'
FROM python:3.11-slim
ARG PIP_ARGS=
COPY . /src
# git: OpenCompass asks for the version of its checkout. PIP_ARGS are several words.
# hadolint ignore=DL3008,DL3013,DL3042,SC2086
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir $PIP_ARGS -c /src/constraints.txt '/src[offline,agent,report]' \
    && useradd --create-home user
# hadolint ignore=DL3066
USER user
WORKDIR /work
ENV TOOLEVAL_CACHE=/work/.tooleval_cache
CMD ["tooleval", "doctor"]
