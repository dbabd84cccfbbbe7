/** Sends the requests of the reference. The key stays in the session storage of the tab. */
const keyForm = document.querySelector("#key");
const keyInput = keyForm.querySelector("input");
keyInput.value = sessionStorage.getItem("shortlist-key") ?? "";
keyInput.oninput = () => sessionStorage.setItem("shortlist-key", keyInput.value);
keyForm.onsubmit = (event) => event.preventDefault();

for (const pre of document.querySelectorAll("pre")) pre.textContent = pre.textContent.replaceAll("$EDGE", location.origin);
for (const part of document.querySelectorAll("#key, .try")) part.hidden = false;
for (const form of document.querySelectorAll("form[data-method]")) form.onsubmit = (event) => void send(event, form);

async function send(event, form) {
  event.preventDefault();
  const { method } = form.dataset;
  const { address, body } = form.elements;
  const output = form.querySelector("output");
  if (method === "DELETE" && !confirm(`Really ${method} ${address.value}?`)) return;
  output.textContent = "…";
  try {
    const startMs = performance.now();
    const headers = { "x-api-key": keyInput.value, ...(body && { "content-type": "application/json" }) };
    const response = await fetch(new URL(address.value, location.origin), { method, headers, body: body?.value });
    const text = await response.text();
    const pre = document.createElement("pre");
    pre.textContent = `${response.status} in ${Math.round(performance.now() - startMs)} ms\n${readable(text)}`;
    output.replaceChildren(pre);
  } catch (error) {
    output.textContent = error.message;
  }
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
