import { afterAll, beforeAll, describe } from "vitest";
import { type CustomerService, startCustomerService } from "../fixtures/customer-service.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../fixtures/postgres-server.ts";
import { customerJourney } from "../suites/customer-journey.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");

describe.skipIf(!bin)("a customer with a Postgres server", () => {
  let server: PostgresServer;
  let service: CustomerService;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    await server.execute("CREATE SCHEMA shop; CREATE ROLE shortlist LOGIN PASSWORD 'planted password'");
    service = await startCustomerService({
      SHORTLIST_SECRET_ACME__DB: "planted password",
      SHORTLIST_ALLOW_PRIVATE_ADDRESSES: "true",
    });
  }, 240_000);
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });

  customerJourney({
    service: () => service,
    store: () => ({
      connector: {
        type: "Postgres",
        location: `postgres://shortlist@127.0.0.1:${server.port}/postgres`,
        password: { env: "SHORTLIST_SECRET_ACME__DB" },
        sslmode: "disable",
      },
      table: (name) => `shop.${name}`,
      execute: (sql) => server.execute(sql),
      grants: [
        {
          refusal: /permission denied for schema shop.*GRANT USAGE ON SCHEMA/s,
          grant: () => server.execute("GRANT USAGE ON SCHEMA shop TO shortlist"),
        },
        {
          refusal: /permission denied for table events.*GRANT SELECT ON/s,
          grant: () => server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA shop TO shortlist"),
        },
      ],
      revoke: () => server.execute("REVOKE SELECT ON shop.events FROM shortlist"),
    }),
  });
});
