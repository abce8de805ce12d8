# The app with its default model, for a machine of your own. Build: docker build -t dpicl-studio .
# With an NVIDIA card: docker build --build-arg TORCH_INDEX=https://pypi.org/simple -t dpicl-studio .
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim AS build
# CPU build of torch by default; the CUDA build is the one of pypi.org.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 DPICL_MODEL_CACHE=/opt/dpicl-model
WORKDIR /src
RUN python -m venv /opt/venv
COPY requirements.txt ./
RUN torch="$(grep '^torch==' requirements.txt)" \
    && /opt/venv/bin/pip install "${torch}" --index-url "${TORCH_INDEX}" \
    && /opt/venv/bin/pip install -r requirements.txt
COPY dpicl_core ./dpicl_core
RUN /opt/venv/bin/python -m dpicl_core model --fetch

FROM python:${PYTHON_VERSION}-slim
RUN useradd --create-home --uid 10001 studio \
    && install -d -o studio -g studio /data/home /data/model
ENV PATH=/opt/venv/bin:${PATH} \
    PYTHONUNBUFFERED=1 \
    DPICL_HOME=/data/home \
    DPICL_MODEL_CACHE=/data/model
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY --from=build --chown=studio:studio /opt/dpicl-model /data/model
COPY .streamlit ./.streamlit
COPY app.py requirements.txt ./
COPY assets ./assets
COPY pages ./pages
COPY dpicl_core ./dpicl_core
USER 10001:10001
# The ledger's secret and database live in DPICL_HOME, the converted model in DPICL_MODEL_CACHE: both outlive the container.
VOLUME ["/data/home", "/data/model"]
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Inside the container the server listens on all addresses; publish it on the loopback alone:
# docker run -p 127.0.0.1:8501:8501 -v dpicl-home:/data/home -v dpicl-model:/data/model dpicl-studio
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
