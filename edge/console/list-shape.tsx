import type { EvaluationReport } from "../client/shortlist.ts";
import { percent } from "./figures.ts";
import { Table } from "./widgets.tsx";

const MEASURES = [
  ["coverage", "Catalog shown", "The share of all items that are in some list."],
  ["popularity_percentile", "Popularity of the shown items", "100 % is the most popular item, 50 % the middle one."],
  ["gini", "Concentration", "0 % if every item is shown equally often, near 100 % if few items fill all lists."],
] as const;

/** Whether the lists show a part of the catalog or all of it, beside lists of popular items and what users chose before. */
export function ListShape({ report }: { report: EvaluationReport }) {
  const { chosen, popularity, history_popularity_percentile: ofHistories, chosen_by: by } = report;
  const cutOff = by.split("@")[1];
  return (
    <section>
      <h2>What the lists show</h2>
      <Table
        label="What the lists show"
        head={[`Lists of ${cutOff}`, chosen.method, "Popular items", "Histories of the users"]}
      >
        {MEASURES.map(([name, title, meaning]) => (
          <tr key={name}>
            <th scope="row">
              {title}
              <div class="quiet">{meaning}</div>
            </th>
            <td>{share(chosen.lists[`${name}@${cutOff}`])}</td>
            <td>{share(popularity.lists[`${name}@${cutOff}`])}</td>
            <td>{share(name === "popularity_percentile" ? ofHistories : null)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

const share = (value: number | null | undefined): string => (value == null ? "–" : percent(value));
