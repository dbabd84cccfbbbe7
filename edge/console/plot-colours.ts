/** The colours of a plot's place, as console.css sets them for `.plot`. A canvas takes computed colours only. */
export function coloursOf(place: HTMLElement) {
  const { color: ink, borderTopColor: line, outlineColor: accent } = getComputedStyle(place);
  const { backgroundColor: paper } = getComputedStyle(document.body);
  return { ink, line, accent, paper };
}

export const axisOf = ({ ink, line }: ReturnType<typeof coloursOf>) => ({
  stroke: ink,
  grid: { stroke: line, width: 1 },
  ticks: { stroke: line, width: 1 },
});
