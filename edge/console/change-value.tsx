import { useSignal } from "@preact/signals";
import type { ItemChange, ShownItem } from "../client/shortlist.ts";
import { exampleOf, typedLike } from "./known-items.ts";
import { Choice, TextField } from "./widgets.tsx";

type Values = NonNullable<ItemChange["attributes"]>;

type Props = {
  readonly item: ShownItem;
  readonly isChanging: boolean;
  readonly onChange: (values: Values) => void;
};

/** Changes one value of an item. What is typed has the type that the item, or else a known item, has. */
export function ChangeValue({ item, isChanging, onChange }: Props) {
  const attribute = useSignal("");
  const text = useSignal("");
  const { value, source } = item.attributes[attribute.value] ?? {};
  const example = value ?? source ?? exampleOf(attribute.value);
  const choose = (name: string) => {
    attribute.value = name;
    text.value = "";
  };
  const change = (changed: unknown) => {
    onChange({ [attribute.value]: changed } as Values);
    choose("");
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.value !== "") change(typedLike(example, text.value));
      }}
    >
      <Choice
        label="Change a value"
        value={attribute.value}
        options={[["", "choose"], ...Object.keys(item.attributes).map((name) => [name, name] as const)]}
        onChange={choose}
      />
      {attribute.value && (
        <>
          {typeof example === "boolean" ? (
            <Choice
              label="New value"
              value={text.value}
              options={[
                ["", "choose"],
                ["true", "yes"],
                ["false", "no"],
              ]}
              onChange={(chosen) => {
                text.value = chosen;
              }}
            />
          ) : (
            <TextField
              label={Array.isArray(example) ? "New values, separated by commas" : "New value"}
              value={text.value}
              onInput={(typed) => {
                text.value = typed;
              }}
            />
          )}
          <button type="submit" disabled={isChanging || text.value === ""}>
            Change
          </button>
          <button type="button" disabled={isChanging} onClick={() => change(null)}>
            Take the value away
          </button>
        </>
      )}
    </form>
  );
}
