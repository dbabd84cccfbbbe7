/** The looks of a row inside its shadow root. Pages change them by custom properties and by `::part()`. */
export const ROW_STYLE = `
:host { display: block }
:host([hidden]) { display: none }
h2 { font-size: 1.25em; margin: 0 0 .5em }
ol { display: flex; gap: var(--shortlist-gap, 1rem); margin: 0; padding: 4px; list-style: none; overflow-x: auto }
li { flex: none; width: var(--shortlist-card-width, 11rem) }
.card {
  box-sizing: border-box; display: flex; flex-direction: column; gap: .25em; width: 100%; height: 100%;
  padding: 0; border: 0; background: none; color: inherit; font: inherit; text-align: start; text-decoration: none; cursor: pointer
}
.card:hover .title { text-decoration: underline }
.frame { display: block; aspect-ratio: var(--shortlist-picture-ratio, 1); border-radius: .5em; overflow: hidden; background: #8882 }
.picture { display: block; width: 100%; height: 100%; object-fit: cover }
.title { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; overflow-wrap: anywhere }
.price { font-weight: 600 }
.blank { overflow: hidden; animation: wait 1.2s ease-in-out infinite alternate }
.blank .title { height: 1.2em; margin: .5em 0; border-radius: .25em; background: #8882 }
@keyframes wait { to { opacity: .5 } }
@media (prefers-reduced-motion: reduce) { .blank { animation: none } }
`;
