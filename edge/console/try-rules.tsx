import { attributeNames } from "./known-items.ts";
import { CAPS_MAX, type Cap, objectIn, type TryForm } from "./try-request.ts";
import { Choice, Field, TextField } from "./widgets.tsx";

const IDS_HINT = "Item ids, separated by commas.";

type Props = {
  readonly form: TryForm;
  readonly onChange: (part: Partial<TryForm>) => void;
};

/** Which items come first, which ones are ranked at all, and how many may be alike. */
export function Rules({ form, onChange }: Props) {
  return (
    <>
      <Caps caps={form.caps} onChange={(caps) => onChange({ caps })} />
      <TextField
        label="Pinned items"
        value={form.pinned}
        hint={IDS_HINT}
        placeholder="none"
        onInput={(pinned) => onChange({ pinned })}
      />
      <TextField
        label="Only these items"
        value={form.only}
        hint={IDS_HINT}
        placeholder="the whole catalog"
        onInput={(only) => onChange({ only })}
      />
      {form.exploration > 0 && (
        <TextField
          label="Seed of the exploration"
          type="number"
          value={form.seed}
          placeholder="the user and the day"
          onInput={(seed) => onChange({ seed })}
        />
      )}
    </>
  );
}

/** One row for each cap, and an empty one as long as there may be another. */
function Caps({ caps, onChange }: { caps: readonly Cap[]; onChange: (caps: readonly Cap[]) => void }) {
  const rows = caps.length < CAPS_MAX ? [...caps, { attribute: "", times: 2 }] : caps;
  const change = (at: number, cap: Cap) => onChange(rows.with(at, cap).filter(({ attribute }) => attribute));
  return rows.map((cap, at) => {
    const isFree = (name: string) => name === cap.attribute || caps.every(({ attribute }) => attribute !== name);
    return (
      <div class="row" key={at}>
        <Choice
          label={at === 0 ? "At most the same" : `At most the same, ${at + 1}`}
          value={cap.attribute}
          options={[
            ["", "no limit"],
            ...attributeNames()
              .filter(isFree)
              .map((name) => [name, name] as const),
          ]}
          onChange={(attribute) => change(at, { ...cap, attribute })}
        />
        {cap.attribute && (
          <TextField
            label={at === 0 ? "times" : `times, ${at + 1}`}
            type="number"
            value={String(cap.times)}
            onInput={(text) => change(at, { ...cap, times: Math.max(1, Math.floor(Number(text)) || 1) })}
          />
        )}
      </div>
    );
  });
}

/** What references in filters, boosts and scenarios take from the call. */
export function Caller({ form, onChange }: Props) {
  return (
    <fieldset>
      <legend>Who calls</legend>
      <Values
        label="Attributes of the user"
        text={form.userValues}
        example='{"country": "DE"}'
        hint='A filter may say {"country": {"$user": "country"}}.'
        onInput={(userValues) => onChange({ userValues })}
      />
      <Values
        label="Context of the call"
        text={form.context}
        example='{"language": "de", "lat": 52.5, "lon": 13.4}'
        hint='A filter may say {"language": {"$context": "language", "default": "en"}}.'
        onInput={(context) => onChange({ context })}
      />
    </fieldset>
  );
}

type ValuesProps = {
  readonly label: string;
  readonly text: string;
  readonly example: string;
  readonly hint: string;
  readonly onInput: (text: string) => void;
};

function Values({ label, text, example, hint, onInput }: ValuesProps) {
  const isWrong = objectIn(text) === undefined;
  return (
    <Field label={label} hint={isWrong ? "This is no JSON object yet: it is not sent." : hint}>
      {(id) => (
        <textarea
          id={id}
          rows={1}
          spellcheck={false}
          aria-invalid={isWrong}
          placeholder={example}
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
