import { useSignal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { CreatePage } from "./create.tsx";
import { HealthPage } from "./health.tsx";
import { LivePage } from "./live.tsx";
import { ModelPage } from "./model.tsx";
import { ModelsPage } from "./models.tsx";
import { apiKey, page, signIn, signOut } from "./session.ts";
import { TextField } from "./widgets.tsx";

function Console() {
  const { steps } = page.value;
  const place = steps.join(" · ") || "models";
  useEffect(() => {
    document.title = `${apiKey.value ? place : "sign in"} · Shortlist`;
  });
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header>
        <a href="#/" class="brand">
          Shortlist
        </a>
        <nav aria-label="Console">
          {apiKey.value && <a href="#/live">Live</a>}
          {apiKey.value && <a href="#/health">Health</a>}
          <a href="/v0/docs">API</a>
          {apiKey.value && (
            <button type="button" class="plain" onClick={signOut}>
              Sign out
            </button>
          )}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {apiKey.value ? <Page steps={steps} /> : <SignIn />}
      </main>
    </>
  );
}

function Page({ steps: [room, name, part, item] }: { steps: readonly string[] }) {
  if (room === undefined) return <ModelsPage />;
  if (room === "live") return <LivePage />;
  if (room === "health") return <HealthPage />;
  if (room === "create") return <CreatePage />;
  if (room === "models" && name !== undefined)
    return <ModelPage key={name} name={name} part={part ?? ""} item={item} />;
  return (
    <p>
      There is no such page. <a href="#/">All models</a>
    </p>
  );
}

function SignIn() {
  const key = useSignal("");
  return (
    <form
      class="card narrow"
      onSubmit={(event) => {
        event.preventDefault();
        if (key.value.trim()) signIn(key.value.trim());
      }}
    >
      <h1>Sign in</h1>
      <p>
        Your operator issues API keys with <code>npm run keys -- issue --customer NAME</code>. <code>npm start</code>{" "}
        prints an address that signs you in.
      </p>
      <TextField
        label="API key"
        type="password"
        value={key.value}
        hint="Kept in this tab only, until you close it."
        onInput={(value) => {
          key.value = value;
        }}
        required
      />
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  );
}

render(<Console />, document.getElementById("console")!);
