/** Traces, by OpenTelemetry's SDK, which is loaded only where an operator names a collector. */
import { ROOT_CONTEXT, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { SEND_MS_MAX, telemetryResource } from "./metrics.ts";

export type FinishedSpan = {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** Why it failed; absent: it did not. */
  readonly failure?: string;
};

export type Traces = {
  /**
   * Adds a span and its parts, which have ended.
   *
   * @param traceId 32 hexadecimal digits
   */
  add(traceId: string, whole: FinishedSpan, parts: readonly FinishedSpan[]): void;
  /** Sends what has not been sent. */
  close(): Promise<void>;
};

/** @param collectorUrl Gets the spans by OTLP/HTTP. */
export async function openTraces(collectorUrl: string): Promise<Traces> {
  const [{ TracerProvider, BatchSpanProcessor, RandomIdGenerator }, { OTLPTraceExporter }] = await Promise.all([
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${collectorUrl}/v1/traces`, timeoutMillis: SEND_MS_MAX });
  const random = new RandomIdGenerator();
  let newTraceId = "";
  const provider = new TracerProvider({
    resource: await telemetryResource(),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
    idGenerator: { generateTraceId: () => newTraceId, generateSpanId: () => random.generateSpanId() },
  });
  const tracer = provider.getTracer("shortlist");
  return {
    add(traceId, whole, parts) {
      newTraceId = traceId;
      const root = begun(tracer, whole);
      for (const part of parts) ended(begun(tracer, part, trace.setSpan(ROOT_CONTEXT, root)), part);
      ended(root, whole);
    },
    close: () => provider.shutdown(),
  };
}

const begun = (tracer: Tracer, { name, startMs, attributes }: FinishedSpan, within = ROOT_CONTEXT) =>
  tracer.startSpan(name, { startTime: startMs, attributes: { ...attributes } }, within);

function ended(span: ReturnType<typeof begun>, { endMs, failure }: FinishedSpan): void {
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end(endMs);
}
