import type { ExperimentReport } from "../client/shortlist.ts";
import { ExperimentPlot, LiftText } from "./experiment-plot.tsx";
import { type Arm, conclusionOf, contentOf, timeLeftOf } from "./experiment-spec.ts";
import { ago, count, percent } from "./figures.ts";
import { Table } from "./widgets.tsx";

/** What an experiment or a canary has shown: the conclusion, figures, arms, and the lift over time. */
export function ReportView({ report }: { report: ExperimentReport }) {
  const { started_at, goal, guard, arms, verdict, sample_ratio_mismatch: isMismatch } = report;
  return (
    <>
      <p class={isMismatch ? "problem" : "card"} role="status">
        <strong>{conclusionOf(report)}</strong>
      </p>
      <dl class="facts">
        <Fact title="Began" text={ago(started_at)} />
        <Fact title="Goal" text={goalText(goal)} />
        {guard && <Fact title="Must not get worse" text={goalText(guard)} />}
        <Fact title="Users" text={count(arms.reduce((sum, { exposed }) => sum + exposed, 0))} />
        <Fact title="Sample ratio" text={isMismatch ? "not as the shares say" : "as the shares say"} />
        {verdict === "running" && <Fact title="To detect 5 %" text={timeLeftOf(report)} />}
      </dl>
      <Arms report={report} />
      <ExperimentPlot report={report} />
    </>
  );
}

const Fact = ({ title, text }: { title: string; text: string }) => (
  <div>
    <dt>{title}</dt>
    <dd>{text}</dd>
  </div>
);

const goalText = ({ type, within_hours }: ExperimentReport["goal"]) =>
  `${type} within ${within_hours} h of the first list`;

function Arms({ report: { arms, guard } }: { report: ExperimentReport }) {
  const head = ["Arm", "Users get", "Share", "Users", "Reached the goal", "Lift", "Verdict"];
  return (
    <Table label="Arms" head={guard ? [...head, "Guard"] : head}>
      {arms.map((arm) => (
        <tr key={arm.name}>
          <th scope="row">{arm.name}</th>
          <td>{contentOf(arm)}</td>
          <td>{percent(arm.share, 1)}</td>
          <td>{count(arm.exposed)}</td>
          <td>
            {percent(arm.rate, 1)} <span class="quiet">{count(arm.reached)}</span>
          </td>
          <td>{arm.lift ? <LiftText lift={arm.lift} /> : "–"}</td>
          <td>
            <ArmVerdict arm={arm} />
          </td>
          {guard && (
            <td>
              {percent(arm.guard_rate ?? 0, 1)} {arm.guard_lift && <LiftText lift={arm.guard_lift} />}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

const VERDICTS = { running: "none yet", better: "better", worse: "worse", no_difference: "no difference" };

function ArmVerdict({ arm: { verdict } }: { arm: Arm }) {
  if (verdict === undefined) return <span class="quiet">the others are compared with it</span>;
  const colour = { running: "", better: " published", worse: " refused", no_difference: "" }[verdict];
  return <span class={`badge${colour}`}>{VERDICTS[verdict]}</span>;
}
