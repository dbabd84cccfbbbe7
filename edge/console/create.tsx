import { type CreateForm, EMPTY_CREATION, specOf } from "./create-spec.ts";
import { ModelForm } from "./model-form.tsx";
import { client, goTo, modelPath } from "./session.ts";
import { TextField } from "./widgets.tsx";

const requestOf = (form: CreateForm) => ({ method: "POST", path: "/v0/models", body: specOf(form) }) as const;

export const CreatePage = () => (
  <>
    <p class="path">
      <a href="#/">Models</a>
    </p>
    <h1>Create a model</h1>
    <ModelForm
      initial={EMPTY_CREATION}
      specOf={specOf}
      requestOf={requestOf}
      send={(form) => client.value.createModel(specOf(form))}
      onDone={({ name }) => goTo(modelPath(name))}
      action="Create and train"
      isComplete={({ name }) => name !== ""}
    >
      {({ name }, onChange) => (
        <TextField
          label="Name of the model"
          value={name}
          placeholder="shop"
          required
          onInput={(typed) => onChange({ name: typed })}
        />
      )}
    </ModelForm>
  </>
);
