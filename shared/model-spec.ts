import { z } from "zod";

export const ModelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, "must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$");

const Column = z.string().min(1).max(128);
const QUERY_BYTES_MAX = 65_536;

/** One place to read from. What further fields mean is up to the connector of that type (trainer/connectors). */
export const ConnectorConfig = z.looseObject({
  id: z.string().min(1).max(63).optional(),
  type: z.string().min(1).max(40),
});
export type ConnectorConfig = z.infer<typeof ConnectorConfig>;

export const Source = z.strictObject({
  connector_id: z.string().min(1).max(63).optional(),
  query: z
    .string()
    .min(1)
    .refine((text) => new TextEncoder().encode(text).length <= QUERY_BYTES_MAX, "must be at most 64 KiB"),
});
export type Source = z.infer<typeof Source>;

const Scalar = z.enum(["Category", "Numerical", "Boolean", "Timestamp", "Text"]);
export const FeatureType = z.union([Scalar, z.literal("CategoryList")]);
export type FeatureType = z.infer<typeof FeatureType>;

const Entity = z.strictObject({
  id: Column,
  source: Source.optional(),
  features: z
    .array(z.strictObject({ name: Column, type: FeatureType }))
    .max(200)
    .optional(),
});

export const Label = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("Binary"), name: Column }),
  z.strictObject({ type: z.literal("Rating"), name: Column, positive_from: z.number() }),
]);
export type Label = z.infer<typeof Label>;

export const ModelSchema = z.strictObject({
  user: Entity,
  item: Entity,
  interaction: z.strictObject({
    created_at: Column,
    label: Label,
    source: Source,
    incremental: z.boolean().optional(),
  }),
});
export type ModelSchema = z.infer<typeof ModelSchema>;

/** The body of `POST /v0/models`. */
export const ModelSpec = z
  .strictObject({
    model_name: ModelName,
    connector_configs: z.array(ConnectorConfig).min(1).max(10),
    schema: ModelSchema,
    train_schedule: z.string().min(1).max(100).default("@once"),
  })
  .superRefine((spec, context) => {
    const ids = spec.connector_configs.map((config) => config.id);
    if (ids.length < 2) return;
    for (const [i, id] of ids.entries()) {
      const path = ["connector_configs", i, "id"];
      if (id === undefined) context.addIssue({ code: "custom", path, message: "is required with several connectors" });
      else if (ids.indexOf(id) !== i)
        context.addIssue({ code: "custom", path, message: `repeats ${JSON.stringify(id)}` });
    }
    const { user, item, interaction } = spec.schema;
    for (const [name, source] of Object.entries({
      user: user.source,
      item: item.source,
      interaction: interaction.source,
    })) {
      if (source === undefined) continue;
      const path = ["schema", name, "source", "connector_id"];
      if (source.connector_id === undefined)
        context.addIssue({ code: "custom", path, message: "is required with several connectors" });
      else if (!ids.includes(source.connector_id))
        context.addIssue({
          code: "custom",
          path,
          message: `names no connector: ${JSON.stringify(source.connector_id)}`,
        });
    }
  });
export type ModelSpec = z.infer<typeof ModelSpec>;

/** The connector that a source names; with one connector, that one whatever the name. */
export function connectorOf(spec: ModelSpec, source: Source): ConnectorConfig {
  const found = spec.connector_configs.find((config) => config.id === source.connector_id);
  return spec.connector_configs.length === 1 ? spec.connector_configs[0]! : found!;
}
