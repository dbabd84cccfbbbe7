import { useMemo } from "preact/hooks";
import type { ModelRecord } from "../client/shortlist.ts";
import { changeBetween, changedSpec, formOf, otherConnectorsOf, specOfModel } from "./change-spec.ts";
import type { CreateForm } from "./create-spec.ts";
import { ModelForm } from "./model-form.tsx";
import { client, goTo, modelPath } from "./session.ts";

/** The form that creates models, filled with this model's specification. */
export function ChangePage({ model, onChange }: { model: ModelRecord; onChange: () => void }) {
  const spec = useMemo(() => specOfModel(model), []); // as it was when the form was opened
  const name = model.model_name;
  const others = otherConnectorsOf(spec).map(({ id, type }) => `${id} (${type})`);
  const path = `/v0${modelPath(name)}`;
  const bodyOf = (form: CreateForm) => changeBetween(spec, changedSpec(spec, form));
  return (
    <>
      <p>Another source, other columns, events or measures of a good list train the model again.</p>
      {others.length > 0 && <p class="quiet">Other connectors, which only the API can change: {others.join(", ")}.</p>}
      <ModelForm
        initial={formOf(spec)}
        specOf={(form) => changedSpec(spec, form)}
        requestOf={(form) => ({ method: "PATCH", path, body: bodyOf(form) })}
        send={(form) => client.value.changeModel(name, bodyOf(form))}
        onDone={() => {
          onChange();
          goTo(modelPath(name, "data"));
        }}
        action="Change the model"
        isComplete={(form) => Object.keys(bodyOf(form)).length > 0}
      />
    </>
  );
}
