import { useSignal } from "@preact/signals";
import type { ModelRecord, VersionList } from "../client/shortlist.ts";
import { ago, metric } from "./figures.ts";
import { Interval } from "./interval.tsx";
import { useAction, useLoaded } from "./loaded.ts";
import { actionCurl, apiPath } from "./request-code.ts";
import { client } from "./session.ts";
import { VersionPlot } from "./version-plot.tsx";
import { Confirm, Problem, Table, WhenLoaded } from "./widgets.tsx";

type Version = VersionList["versions"][number];

/** All versions that can be live, with roll-back, and how good each was. */
export function VersionsPage({ model, onChange }: { model: ModelRecord; onChange: () => void }) {
  const wanted = useSignal<string | undefined>(undefined);
  const versions = useLoaded(
    (signal) => client.value.listVersions(model.model_name, { signal }),
    [model.model_name, model.version],
  );
  // Its failure only leaves older versions out of the plot.
  const runs = useLoaded(
    (signal) => client.value.listRuns(model.model_name, { signal }),
    [model.model_name, model.training.finished_at],
  );
  const activate = useAction((version: string) => client.value.activateVersion(model.model_name, version));
  const ask = (version: string) => {
    wanted.value = version;
  };
  return (
    <section>
      <h2>Versions</h2>
      <p class="quiet">Edges serve another version within ten seconds.</p>
      <Problem error={activate.error} />
      <WhenLoaded from={versions}>
        {({ versions }) => (
          <>
            <VersionPlot versions={versions} runs={runs.value?.runs ?? []} />
            <VersionTable versions={versions} isBusy={activate.isRunning} onActivate={ask} />
          </>
        )}
      </WhenLoaded>
      {wanted.value && (
        <Confirm
          title="Make this version live?"
          action="Make it live"
          curl={actionCurl("POST", `${location.origin}${apiPath(model.model_name)}/versions/${wanted.value}/activate`)}
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
  readonly isBusy: boolean;
  readonly onActivate: (version: string) => void;
};

function VersionTable({ versions, isBusy, onActivate }: VersionTableProps) {
  const most = Math.max(...versions.map(({ quality }) => quality?.chosen.high ?? 0));
  return (
    <Table label="Versions" head={["Version", "Made", "Method", "Quality", "Popularity", "State"]}>
      {versions.map(({ version, created_at, live, metrics, quality }) => {
        const { method } = (metrics ?? {}) as { readonly method?: string };
        return (
          <tr key={version}>
            <th scope="row">
              <code>{version}</code>
            </th>
            <td>{ago(created_at)}</td>
            <td>{method ?? "–"}</td>
            <td>
              {quality ? (
                <>
                  <Interval mean={quality.chosen} most={most} />{" "}
                  <span class="quiet">{quality.metric.toUpperCase()}</span>
                </>
              ) : (
                "–"
              )}
            </td>
            <td>{metric(quality?.popularity.value)}</td>
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
