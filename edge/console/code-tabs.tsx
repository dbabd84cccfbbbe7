import { useSignal } from "@preact/signals";
import { type Call, curlOf, pythonOf, rowOf, typeScriptOf } from "./request-code.ts";
import { Code } from "./widgets.tsx";

const LANGUAGES = [
  ["curl", curlOf],
  ["TypeScript", typeScriptOf],
  ["Python", pythonOf],
  ["Web page", rowOf],
] as const;

/** The code for exactly this request. */
export function CodeTabs({ call }: { call: Call }) {
  const chosen = useSignal(0);
  const [name, codeOf] = LANGUAGES[chosen.value]!;
  return (
    <section class="block">
      <h2>The code for this list</h2>
      <div class="buttons">
        {LANGUAGES.map(([language], at) => (
          <button
            key={language}
            type="button"
            aria-pressed={at === chosen.value}
            onClick={() => {
              chosen.value = at;
            }}
          >
            {language}
          </button>
        ))}
      </div>
      <Code label={`${name} code`} text={codeOf(call)} />
    </section>
  );
}
