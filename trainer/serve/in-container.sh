# Starts the service in its image. The first start writes the settings; PUBLIC_URL is the address of the proxy before it.
set -e
state="${STATE:-/state}"
[ -f "$state/settings.json" ] || node trainer/serve/setup.ts --yes --dir "$state" --host 0.0.0.0 --port "${PORT:-8787}" \
  --metrics-port "${METRICS_PORT:-9464}" ${DATA_ROOT:+--data-root "$DATA_ROOT"} ${PUBLIC_URL:+--public-url "$PUBLIC_URL"}
exec node trainer/serve/serve.ts --dir "$state"
