import { useSignal } from "@preact/signals";
import type { ModelRecord, VersionList } from "../client/shortlist.ts";
import { ago, metric } from "./figures.ts";
import { useAction, useLoaded } from "./loaded.ts";
import { client } from "./session.ts";
import { Confirm, Problem, Table, WhenLoaded } from "./widgets.tsx";

type Version = VersionList["versions"][number];
type Metrics = Readonly<Record<string, unknown>> & { readonly baseline?: Readonly<Record<string, number>> };

/** All versions that can be live, with roll-back. */
export function VersionsPage({ model, onChange }: { model: ModelRecord; onChange: () => void }) {
  const wanted = useSignal<string | undefined>(undefined);
  const versions = useLoaded(
    (signal) => client.value.listVersions(model.model_name, { signal }),
    [model.model_name, model.version],
  );
  const activate = useAction((version: string) => client.value.activateVersion(model.model_name, version));
  const by = model.objective?.metric ?? "ndcg@10";
  const ask = (version: string) => {
    wanted.value = version;
  };
  return (
    <section>
      <h2>Versions</h2>
      <p class="quiet">Edges serve another version within ten seconds.</p>
      <Problem error={activate.error} />
      <WhenLoaded from={versions}>
        {(list) => <VersionTable versions={list.versions} by={by} isBusy={activate.isRunning} onActivate={ask} />}
      </WhenLoaded>
      {wanted.value && (
        <Confirm
          title="Make this version live?"
          action="Make it live"
          onAnswer={async (isConfirmed) => {
            const version = wanted.value!;
            wanted.value = undefined;
            if (!isConfirmed || !(await activate.run(version))) return;
            onChange();
            versions.reload();
          }}
        >
          <p>
            All lists come from <code>{wanted.value}</code> then. The next training that succeeds replaces it.
          </p>
        </Confirm>
      )}
    </section>
  );
}

type VersionTableProps = {
  readonly versions: readonly Version[];
  /** The metric that is shown. */
  readonly by: string;
  readonly isBusy: boolean;
  readonly onActivate: (version: string) => void;
};

function VersionTable({ versions, by, isBusy, onActivate }: VersionTableProps) {
  return (
    <Table label="Versions" head={["Version", "Made", "Method", by.toUpperCase(), "Popularity", "State"]}>
      {versions.map(({ version, created_at, live, metrics }) => {
        const figures = (metrics ?? {}) as Metrics;
        return (
          <tr key={version}>
            <th scope="row">
              <code>{version}</code>
            </th>
            <td>{ago(created_at)}</td>
            <td>{String(figures.method ?? "–")}</td>
            <td>{metric(figures[by] as number | undefined)}</td>
            <td>{metric(figures.baseline?.[by])}</td>
            <td>
              {live ? (
                <span class="badge active">live</span>
              ) : (
                <button type="button" disabled={isBusy} onClick={() => onActivate(version)}>
                  Make live
                </button>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
