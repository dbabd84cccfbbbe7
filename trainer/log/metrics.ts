/**
 * Metrics of a process, by OpenTelemetry's SDK: Prometheus reads them, or they are sent to a collector. The SDK is loaded only where an
 * operator asks for metrics.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Meter } from "@opentelemetry/api";
import { errorForLog, type Log } from "./log.ts";

export type Metrics = {
  readonly meter: Meter;
  /** All metrics in Prometheus's text format. */
  text(): Promise<string>;
  close(): Promise<void>;
};

/** Bounds of histograms of seconds. */
export const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A collector that does not answer holds up the end of a job for so long. */
export const SEND_MS_MAX = 5000;
export const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400];

/** @param collectorUrl Where metrics are sent every minute and at the end; absent: nowhere. */
export async function openMetrics(collectorUrl?: string): Promise<Metrics> {
  const [{ MeterProvider }, { PrometheusExporter, PrometheusSerializer }] = await Promise.all([
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/exporter-prometheus"),
  ]);
  const reader = new PrometheusExporter({ preventServerStart: true });
  const sending = collectorUrl === undefined ? [] : [await senderTo(collectorUrl)];
  const provider = new MeterProvider({ resource: await telemetryResource(), readers: [reader, ...sending] });
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  return {
    meter: provider.getMeter("shortlist"),
    async text() {
      const { resourceMetrics, errors } = await reader.collect();
      if (errors.length > 0) throw errors[0];
      return serializer.serialize(resourceMetrics);
    },
    close: () => provider.shutdown(),
  };
}

/** The name under which telemetry is sent. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the operator take precedence. */
export async function telemetryResource() {
  const { detectResources, envDetector, resourceFromAttributes } = await import("@opentelemetry/resources");
  const own = resourceFromAttributes({ "service.name": "shortlist-trainer" });
  return own.merge(detectResources({ detectors: [envDetector] }));
}

/** Sends what it reads. The SDK reads the variables OTEL_EXPORTER_OTLP_… for headers and compression. */
async function senderTo(collectorUrl: string) {
  const [{ PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/exporter-metrics-otlp-http"),
  ]);
  const exporter = new OTLPMetricExporter({ url: `${collectorUrl}/v1/metrics`, timeoutMillis: SEND_MS_MAX });
  return new PeriodicExportingMetricReader({ exporter, exportTimeoutMillis: SEND_MS_MAX });
}

export type MetricsServer = { readonly port: number; close(): Promise<void> };

type ServerOptions = {
  readonly host: string;
  readonly port: number;
  /** The texts that an answer consists of. One that fails is left out, and the log says why. */
  readonly texts: readonly (() => Promise<string>)[];
  readonly log: Log;
};

/** Answers `GET /metrics`. */
export async function serveMetrics({ host, port, texts, log }: ServerOptions): Promise<MetricsServer> {
  const textOf = (text: () => Promise<string>) =>
    text().catch((error: unknown) => {
      log({ event: "metrics_unavailable", level: "warning", error: errorForLog(error) });
      return "";
    });
  const server = createServer(async (request, answer) => {
    const isKnown = request.url?.split("?")[0] === "/metrics" && request.method === "GET";
    if (!isKnown) return void answer.writeHead(404).end("GET /metrics\n");
    const all = await Promise.all(texts.map(textOf));
    answer.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(all.join(""));
  });
  server.listen({ host, port });
  await once(server, "listening");
  return {
    port: (server.address() as { readonly port: number }).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
