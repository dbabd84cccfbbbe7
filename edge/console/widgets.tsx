/** The pieces that several pages are made of. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { ShortlistError } from "../client/shortlist.ts";
import type { Loaded } from "./loaded.ts";
import { signOut } from "./session.ts";

type Children = { readonly children?: ComponentChildren };

/** What a caller can do about an error. Other errors say it in their own text. */
const REMEDIES: Readonly<Record<string, string>> = {
  trainer_unavailable:
    "Ranking goes on without the trainer. Start it, or wait until it is back; this page tries again.",
  network: "The edge does not answer. Check your connection.",
  timeout: "The edge took too long. Try again.",
  insufficient_scope: "Sign in with a key that has this scope: npm run keys -- issue --customer NAME.",
  invalid_api_key: "Sign out and use another key.",
};

export function Problem({ error, onRetry }: { error: ShortlistError | undefined; onRetry?: () => void }) {
  if (error === undefined) return null;
  const isUnknownKey = error.code === "invalid_api_key" || error.code === "missing_api_key";
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{error.message}</strong>
      </p>
      {error.errors?.map(({ pointer, message }) => (
        <p key={pointer}>
          <code>{pointer}</code> {message}
        </p>
      ))}
      {REMEDIES[error.code] && <p>{REMEDIES[error.code]}</p>}
      <p class="quiet">
        {error.code}
        {error.requestId && `, request ${error.requestId}`}
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
      {isUnknownKey && (
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      )}
    </div>
  );
}

/** The children once the value is there; until then that it is loading, or why it is not there. */
export function WhenLoaded<Value>(props: { from: Loaded<Value>; children: (value: Value) => ComponentChildren }) {
  const { value, error, reload } = props.from;
  return (
    <>
      <Problem error={error} onRetry={reload} />
      {value !== undefined ? (
        props.children(value)
      ) : error === undefined ? (
        <p class="loading" role="status">
          Loading…
        </p>
      ) : null}
    </>
  );
}

/** A labelled control. The function gets the control's id. */
export function Field(props: {
  label: string;
  hint?: string | undefined;
  children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children(id)}
      {props.hint && <p class="quiet">{props.hint}</p>}
    </div>
  );
}

export function TextField(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: string;
  type?: "text" | "number" | "password";
  placeholder?: string;
  required?: boolean;
}) {
  const { label, hint, onInput, ...input } = props;
  const others: object = input; // Preact's types want one literal type of input
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          id={id}
          autocomplete="off"
          spellcheck={false}
          {...others}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
  hint?: string;
}) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
          {props.options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A table that scrolls by itself on narrow screens, also by keyboard. */
export function Table({ label, head, children }: Children & { label: string; head: readonly string[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** Code with a button that copies it. */
export function Code({ text, label }: { text: string; label: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, 2000);
  };
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
      <button type="button" onClick={copy}>
        {isCopied.value ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** The same call for a shell, folded away. */
export const AsCurl = ({ text }: { text: string }) => (
  <details>
    <summary>The same as curl</summary>
    <Code label="curl" text={text} />
  </details>
);

/** A question in a dialog. With `typed`, the answer is possible only once that text was typed. */
export function Confirm(
  props: Children & {
    title: string;
    action: string;
    typed?: string;
    curl: string;
    onAnswer: (isConfirmed: boolean) => void;
  },
) {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal("");
  const titleId = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const isPossible = props.typed === undefined || typed.value === props.typed;
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={() => props.onAnswer(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isPossible) props.onAnswer(true);
        }}
      >
        <h2 id={titleId}>{props.title}</h2>
        {props.children}
        {props.typed !== undefined && (
          <TextField
            label={`Type ${props.typed} to confirm`}
            value={typed.value}
            onInput={(value) => {
              typed.value = value;
            }}
          />
        )}
        <AsCurl text={props.curl} />
        <div class="buttons">
          <button type="button" onClick={() => props.onAnswer(false)}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={!isPossible}>
            {props.action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
